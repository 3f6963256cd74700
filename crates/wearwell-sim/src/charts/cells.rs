//! Cells whose shade shows a figure: segments in their order, or a distribution over two shares.

use std::fmt::Write as _;

use super::{WIDTH, escaped};

/// Number of shades.
const SHADES: usize = 8;
/// Most cells of a map; with more segments, a cell stands for several.
const MAX_CELLS: usize = 1024;
const COLUMNS: usize = 32;
const LEGEND_HEIGHT: f64 = 18.0;

/// The places of a shade's cells, as a path.
type Paths = [String; SHADES];

/// Every segment as a cell, in order, row by row. A part is from 0 to 1; `None` is a segment that is not in use.
pub(super) fn map(label: &str, parts: &[Option<f64>], low: &str, high: &str) -> String {
    if parts.is_empty() {
        return String::new();
    }
    let per_cell = parts.len().div_ceil(MAX_CELLS);
    let columns = if parts.len() <= 256 { COLUMNS / 2 } else { COLUMNS };
    let side = WIDTH / columns as f64;
    let height = (side * 0.6).max(6.0);
    let mut paths = Paths::default();
    for (at, cell) in parts.chunks(per_cell).enumerate() {
        let used: Vec<f64> = cell.iter().flatten().copied().collect();
        if used.is_empty() {
            continue;
        }
        let mean = used.iter().sum::<f64>() / used.len() as f64;
        let (x, y) = ((at % columns) as f64 * side, (at / columns) as f64 * height + LEGEND_HEIGHT);
        add(&mut paths, mean, (x, y), (side - 1.0, height - 1.0));
    }
    let rows = parts.len().div_ceil(per_cell).div_ceil(columns);
    let note = if per_cell > 1 { format!(", {per_cell} segments a cell") } else { String::new() };
    svg(label, LEGEND_HEIGHT + rows as f64 * height, &paths, &format!("{low}{note}"), high)
}

/// A distribution over two shares: counts by column and row, the rows from the bottom.
pub(super) fn grid(label: &str, x_title: &str, y_title: &str, counts: &[Vec<u32>]) -> String {
    const LEFT: f64 = 38.0;
    const BOTTOM: f64 = 36.0;
    const HEIGHT: f64 = 260.0;
    let most = counts.iter().flatten().copied().max().unwrap_or(0);
    if most == 0 {
        return String::new();
    }
    let bins = counts.len() as f64;
    let (side, height) = ((WIDTH - LEFT - 6.0) / bins, (HEIGHT - LEGEND_HEIGHT - BOTTOM) / bins);
    let mut paths = Paths::default();
    for (column, rows) in counts.iter().enumerate() {
        for (row, &count) in rows.iter().enumerate().filter(|(_, count)| **count > 0) {
            let place = (LEFT + column as f64 * side, HEIGHT - BOTTOM - (row + 1) as f64 * height);
            // Starts at the second shade, because the first one means no segment.
            let part = (1.0 + f64::from(count)) / (1.0 + f64::from(most));
            add(&mut paths, part, place, (side - 1.0, height - 1.0));
        }
    }
    let mut axes = format!("<path class=\"axis\" d=\"M{LEFT} {LEGEND_HEIGHT}V{}H{WIDTH}\"/>", HEIGHT - BOTTOM);
    for tick in 0_u8..=4 {
        let part = f64::from(tick) / 4.0;
        let (x, y) = (LEFT + part * side * bins, HEIGHT - BOTTOM - part * height * bins);
        let _ = write!(
            axes,
            "<text class=\"tick\" x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{part}</text>\
             <text class=\"tick\" x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{part}</text>",
            HEIGHT - BOTTOM + 12.0,
            LEFT - 4.0,
            y + 3.0
        );
    }
    let middle = (HEIGHT - BOTTOM) / 2.0;
    let _ = write!(
        axes,
        "<text class=\"title\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\
         <text class=\"title\" x=\"9\" y=\"{middle}\" text-anchor=\"middle\" \
         transform=\"rotate(-90 9 {middle})\">{}</text>",
        (LEFT + WIDTH) / 2.0,
        HEIGHT - 6.0,
        escaped(x_title),
        escaped(y_title)
    );
    let drawn = svg(label, HEIGHT, &paths, "1 segment", &format!("{most}"));
    drawn.replace("</svg>", &format!("{axes}</svg>"))
}

fn add(paths: &mut Paths, part: f64, (x, y): (f64, f64), (width, height): (f64, f64)) {
    let shade = ((part * SHADES as f64) as usize).min(SHADES - 1);
    let _ = write!(paths[shade], "M{x:.1} {y:.1}h{width:.1}v{height:.1}h-{width:.1}z");
}

/// Paths of all shades, below a legend from low to high.
fn svg(label: &str, height: f64, paths: &Paths, low: &str, high: &str) -> String {
    let mut body =
        format!("<text class=\"tick\" x=\"{}\" y=\"10\" text-anchor=\"end\">{}</text>", WIDTH - 122.0, escaped(low));
    for (shade, path) in paths.iter().enumerate() {
        let x = WIDTH - 118.0 + shade as f64 * 9.0;
        let _ = write!(body, "<rect class=\"h{shade}\" x=\"{x}\" y=\"2\" width=\"9\" height=\"9\"/>");
        if !path.is_empty() {
            let _ = write!(body, "<path class=\"h{shade}\" d=\"{path}\"/>");
        }
    }
    let _ = write!(body, "<text class=\"tick\" x=\"{}\" y=\"10\">{}</text>", WIDTH - 42.0, escaped(high));
    format!("<svg viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\" aria-label=\"{}\">{body}</svg>\n", escaped(label))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_segment_in_use_is_a_cell() {
        let svg = map("m", &[Some(0.0), None, Some(1.0), Some(0.99)], "empty", "full");
        assert_eq!(svg.matches("h-").count(), 3);
        assert!(
            svg.contains("<path class=\"h0\"")
                && svg.contains("<path class=\"h7\"")
                && !svg.contains("<path class=\"h3\"")
        );
        assert_eq!(map("m", &[], "", ""), "");
    }

    #[test]
    fn many_segments_share_cells() {
        let svg = map("m", &vec![Some(0.5); 8192], "empty", "full");
        assert!(svg.contains("8 segments a cell") && svg.len() < 40_000, "{}", svg.len());
    }
}
