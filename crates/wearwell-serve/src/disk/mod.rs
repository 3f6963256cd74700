//! A served disk: an image file or memory, the engine on it, and access to any range of bytes.
