//! What the pages of a placement's classes have in common, in a word, for the page.

use wearwell::{Class, Placement};

/// The name of a class; none where its number says as much.
pub(super) fn class_name(place: Placement, class: u8) -> Option<String> {
    if Class(class) == Class::WEAR {
        return Some("moved by wear leveling".to_owned());
    }
    // The places in these lists are the numbers of classes, as the placement policies have them.
    let names: &[&str] = match place {
        Placement::Single => &["writes and copies"],
        Placement::SeparateGc => &["writes", "copies"],
        Placement::SeparateCleaning => &["writes, copies from full segments", "copies from emptier segments"],
        Placement::HotColdReadonly => &["hot", "cold", "read-only"],
        Placement::SepBit => &["short-lived", "long-lived", "were short-lived", "young copies", "older", "oldest"],
        Placement::Warcip { .. } => &["copies"],
        Placement::Dac { regions } | Placement::Fadac { classes: regions } => {
            return Some(match (class, regions.get() - 1) {
                (0, _) => "coldest".to_owned(),
                (class, hottest) if class == hottest => "hottest".to_owned(),
                _ => return None,
            });
        }
        _ => &[],
    };
    names.get(usize::from(class)).map(|name| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_named_as_their_policies_number_them() {
        assert_eq!(class_name(Placement::HotColdReadonly, 2).as_deref(), Some("read-only"));
        assert_eq!(class_name(Placement::HotColdReadonly, 3), None);
        assert_eq!(class_name(Placement::ByStream, 0), None, "a stream has a number");
        let dac = Placement::parse("dac:3").expect("a placement");
        assert_eq!([0, 1, 2].map(|class| class_name(dac, class).is_some()), [true, false, true]);
        assert_eq!(class_name(dac, Class::WEAR.0).as_deref(), Some("moved by wear leveling"));
    }
}
