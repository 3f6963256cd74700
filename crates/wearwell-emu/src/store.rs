//! Where an emulated chip keeps its bytes.

use std::io;
use std::ops::Range;

use crate::error::SetupError;

/// Bytes of an emulated chip, all zero at first: in memory or in an image file.
pub trait Store {
    /// True if something else may change the bytes. A NAND chip then keeps checks of its pages.
    fn is_checked(&self) -> bool;

    /// The bytes.
    fn bytes(&self) -> &[u8];

    /// The bytes, to change.
    fn bytes_mut(&mut self) -> &mut [u8];

    /// Makes sure that these bytes can be changed, however full the file system below is. Other bytes are not covered,
    /// except those of the records.
    ///
    /// # Errors
    /// Whatever the system says.
    fn make_room(&mut self, range: Range<usize>) -> io::Result<()>;

    /// These bytes hold nothing from now on. Once that is durable, their space may be given back. Until they are
    /// changed again, after [`make_room`](Self::make_room), they may read as anything.
    fn release(&mut self, _: Range<usize>) {}

    /// Gives some of the space back that was released before the last [`sync`](Self::sync). True if there is more.
    fn give_back(&mut self) -> bool {
        false
    }

    /// True if something may have changed since the last [`sync`](Self::sync) and has to be made durable.
    fn is_changed(&self) -> bool;

    /// Makes all changes durable.
    ///
    /// # Errors
    /// Whatever the system says.
    fn sync(&mut self) -> io::Result<()>;
}

/// Bytes in memory. The system allocates pages only where something is written.
#[derive(Debug, Clone)]
pub struct MemStore {
    bytes: Vec<u8>,
    /// True for the copy of a store that keeps checks.
    is_checked: bool,
}

impl MemStore {
    /// `bytes` zeros.
    ///
    /// # Errors
    /// [`SetupError::Memory`] if there is not enough memory.
    pub(crate) fn new(bytes: u64) -> Result<Self, SetupError> {
        let no_room = |_| SetupError::Memory { bytes };
        let len = usize::try_from(bytes).map_err(no_room)?;
        // The allocator gives a zeroed vector without touching it, but aborts if it fails. So the space is asked for
        // first.
        Vec::<u8>::new().try_reserve_exact(len).map_err(|_| SetupError::Memory { bytes })?;
        Ok(Self { bytes: vec![0; len], is_checked: false })
    }

    /// The bytes of a store, with its checks if it keeps them.
    pub(crate) fn copy_of(store: &dyn Store) -> Self {
        Self { bytes: store.bytes().to_vec(), is_checked: store.is_checked() }
    }
}

impl Store for MemStore {
    fn is_checked(&self) -> bool {
        self.is_checked
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    fn make_room(&mut self, _: Range<usize>) -> io::Result<()> {
        Ok(())
    }

    fn is_changed(&self) -> bool {
        false
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}
