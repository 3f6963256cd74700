#[test]
fn t() {
    for s in 1..30 {
        for m in wearwell_torture::mode::MODES {
            println!("{} {s}", m.name);
            let _ = wearwell_torture::torture(m, s);
        }
    }
}
