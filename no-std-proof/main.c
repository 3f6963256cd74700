/* Links the static library of the no_std proof with nothing but the C library, and runs it. */
#include <stdlib.h>

int wearwell_no_std_proof(void);

/* The unwind tables of Rust's precompiled alloc crate name this; with panic = "abort" nothing calls it. Were std
   linked in, it would be defined twice. */
void rust_eh_personality(void) { abort(); }

int main(void) { return wearwell_no_std_proof(); }
