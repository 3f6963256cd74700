//! wearwell for C: a static library behind `include/wearwell.h`, which is made of this crate.
//!
//! - All memory of a disk comes from the arena that its caller hands over ([`arena`]).
//! - A chip is a struct of callbacks ([`driver`]).
//! - Nothing unwinds into C: a panic calls `ww_panicked`, which the program supplies, and does not go on.
//!
//! Unsafe code is only here, at the border; the engine below forbids it.
#![no_std]
// The names are C's.
#![allow(non_camel_case_types)]

extern crate alloc;

mod arena;
pub mod calls;
pub mod driver;
pub mod error;

unsafe extern "C" {
    /// The program's own: it is told where the library found a defect in itself, and should not return.
    fn ww_panicked(file: *const core::ffi::c_char, file_bytes: usize, line: u32);
}

#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    let (file, line) = info.location().map_or(("", 0), |at| (at.file(), at.line()));
    // SAFETY: pointer and length are those of a string that lives as long as the program.
    unsafe { ww_panicked(file.as_ptr().cast(), file.len(), line) };
    loop {}
}

/// Where there is an operating system, the precompiled core library has unwind tables, and they name this function.
/// Nothing calls it: panics do not unwind.
#[cfg(not(target_os = "none"))]
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}
