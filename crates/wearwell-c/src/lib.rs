//! wearwell for C: a static library with the header `include/wearwell.h`, which is generated from this crate.
//!
//! - All memory of a disk comes from the arena that the caller passes ([`arena`]).
//! - A chip is a struct of callbacks ([`driver`]).
//! - Nothing unwinds into C. A panic calls `ww_panicked`, which the program defines, and does not return.
//!
//! Only this crate has unsafe code; the engine forbids it.
#![no_std]
// The names follow C.
#![allow(non_camel_case_types)]

extern crate alloc;

mod arena;
pub mod calls;
pub mod driver;
pub mod error;
mod open;

#[global_allocator]
static ALLOCATOR: arena::FromArena = arena::FromArena;

unsafe extern "C" {
    /// The program's own function. It gets the place of a defect in the library, and should not return.
    fn ww_panicked(file: *const core::ffi::c_char, file_bytes: usize, line: u32);
}

#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    let (file, line) = info.location().map_or(("", 0), |at| (at.file(), at.line()));
    // SAFETY: pointer and length are those of a string that lives as long as the program.
    unsafe { ww_panicked(file.as_ptr().cast(), file.len(), line) };
    loop {}
}

/// On a target with an operating system, the precompiled core library has unwind tables, and they name this function.
/// Nothing calls it, because panics do not unwind.
#[cfg(not(target_os = "none"))]
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}
