//! Policies that change while the disk is served.

use wearwell::Placement;
use wearwell_serve::disk::DiskConfig;
use wearwell_serve::fdp::FdpSpec;
use wearwell_serve::server::{ControlCommand, ControlError, ask};

use crate::running::{Running, small};

/// A change of the victim policy and of the placement.
fn policy(which: Option<&str>, place: Option<&str>) -> ControlCommand {
    let (which, place) = (which.map(str::to_owned), place.map(str::to_owned));
    ControlCommand::Policy { when: None, which, r#where: place, wear: None }
}

#[test]
fn a_disk_with_handles_keeps_its_placement() {
    for (text, needed) in [("4:initially", "by-handle-shared"), ("4:persistently", "by-handle")] {
        let fdp = FdpSpec::parse(text).unwrap();
        let mut config = DiskConfig { fdp: Some(fdp), ..small() };
        config.engine.place = fdp.place();
        let running = Running::memory(&config);
        let asks = |which, place| ask(&running.control, &policy(which, place));
        for (name, _) in Placement::LIST.iter().filter(|(name, _)| *name != needed) {
            // A refusal changes nothing, also nothing that was asked for beside it.
            let refused = asks(Some("cat"), Some(name)).unwrap_err();
            let tells = |why: &str| why.contains(&format!("--where {name}")) && why.contains(needed);
            assert!(matches!(&refused, ControlError::Refused(why) if tells(why)), "{text}: {refused}");
            let now = asks(None, None).unwrap();
            assert_eq!((now["which"].as_str(), now["where"].as_str()), (Some("greedy"), Some(needed)), "{text}");
        }
        let changed = asks(Some("cat"), Some(needed)).unwrap();
        assert_eq!((changed["which"].as_str(), changed["where"].as_str()), (Some("cat"), Some(needed)), "{text}");
    }
}
