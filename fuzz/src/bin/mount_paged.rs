#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| wearwell_fuzz::mount_paged(data));
