//! `cargo xtask pictures`: the book's pictures of the live page and of reports, taken anew.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::guests;
use crate::process::{self, TaskError};
use crate::workspace::Workspace;

/// Pictures that the test of the live page leaves and that the book shows.
const LIVE: [&str; 2] = ["page-1280-light.png", "page-400-dark.png"];

/// A picture of a report.
struct Shot {
    /// The command line that makes the report.
    args: &'static str,
    /// The report, in the folder that the command runs in.
    page: &'static str,
    /// The picture in `docs/src/simulate`.
    picture: &'static str,
    size: [&'static str; 2],
    /// The element that it begins with; none for the top.
    id: Option<&'static str>,
}

const SHOTS: [Shot; 3] = [
    Shot {
        args: "compare --policies greedy,cost-benefit,cat --chip chiang-series2plus --fill 90% --workload hot:90/10 \
               --write 192MiB --unit 4KiB --html compare.html",
        page: "compare.html",
        picture: "compare.png",
        size: ["1280", "1000"],
        id: None,
    },
    Shot {
        args: "reproduce chiang97 --only table3 --quick --out chiang97",
        page: "chiang97/report.html",
        picture: "reproduce.png",
        size: ["1180", "320"],
        id: Some("chiang97-table3"),
    },
    Shot {
        args: "reproduce matrix --quick --out matrix",
        page: "matrix/report.html",
        picture: "matrix.png",
        size: ["1280", "930"],
        id: Some("best-matrix"),
    },
];

/// Takes all of them. Needs Chromium, Node.js with npm, and fio.
pub(crate) fn run(workspace: &Workspace) -> Result<(), TaskError> {
    process::run(&mut workspace.cargo(&["build", "--release", "--package", "wearwell-cli"]))?;
    let (wearwell, folder) = (workspace.target("release/wearwell"), workspace.target("pictures"));
    let browser = folder.join("browser");
    fs::create_dir_all(&browser).map_err(TaskError::file(&browser))?;
    if !guests::install_browser(workspace, &browser)? {
        return Err(TaskError::Skipped("the pictures".to_owned()));
    }
    let mut live = Command::new("sh");
    live.current_dir(&folder).env("wearwell", &wearwell).arg(workspace.path("xtask/guests/browser.sh"));
    guests::run_script(live.arg(&browser))?;
    for picture in LIVE {
        let to = workspace.path("docs/src/serve").join(picture);
        fs::copy(folder.join(picture), &to).map_err(TaskError::file(&to))?;
    }
    SHOTS.iter().try_for_each(|shot| take(workspace, &wearwell, &folder, shot))
}

fn take(workspace: &Workspace, wearwell: &Path, folder: &Path, shot: &Shot) -> Result<(), TaskError> {
    // The verdicts of a report are not asked for here.
    process::run(Command::new(wearwell).current_dir(folder).args(shot.args.split_whitespace()))?;
    let mut node = Command::new("node");
    node.arg(folder.join("browser/picture.mjs")).arg(folder.join(shot.page));
    node.arg(workspace.path("docs/src/simulate").join(shot.picture)).args(shot.size);
    process::run(node.args(shot.id))
}
