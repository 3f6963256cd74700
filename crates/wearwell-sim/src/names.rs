//! Misspelt names: finds the known one that was probably meant.

/// The known name nearest to `name`, for an error that helps; `None` only where nothing is known.
///
/// The measure ignores case and is the better of two similarities: Damerau-Levenshtein's, which counts typing errors,
/// and Jaro-Winkler's, which favours a common beginning, so that an abbreviation finds its long form. The first of
/// equals is taken.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase();
    let mut best: Option<(f64, &'a str)> = None;
    for candidate in known {
        let lower = candidate.to_lowercase();
        let similarity = strsim::jaro_winkler(&name, &lower).max(strsim::normalized_damerau_levenshtein(&name, &lower));
        if best.is_none_or(|(best_similarity, _)| similarity > best_similarity) {
            best = Some((similarity, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_meant() {
        let known = ["greedy", "cost-benefit", "cat", "fifo", "random", "d-choices"];
        for (typed, meant) in [
            ("gredy", "greedy"),
            ("GREEDY", "greedy"),
            ("cost", "cost-benefit"),
            ("cost_benefit", "cost-benefit"),
            ("act", "cat"),
            ("fif0", "fifo"),
            ("rnadom", "random"),
            ("dchoices", "d-choices"),
        ] {
            assert_eq!(nearest(typed, known.into_iter()), Some(meant), "{typed}");
        }
    }

    #[test]
    fn of_equals_the_first_and_of_nothing_none() {
        assert_eq!(nearest("xyz", ["abc", "def"].into_iter()), Some("abc"));
        assert_eq!(nearest("xyz", std::iter::empty()), None);
    }
}
