//! The options of a handshake, read from their bytes.

use super::wire::{Reader, info, option};

/// Most bytes of an export's name or of a query, by the specification.
const MAX_STRING_BYTES: usize = 4096;

/// A parsed option.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ClientOption<'a> {
    ExportName(&'a [u8]),
    Abort,
    List,
    StartTls,
    /// INFO, or GO, which also enters transmission.
    Info {
        name: &'a [u8],
        wants: Wanted,
        goes: bool,
    },
    StructuredReply,
    MetaContext {
        name: &'a [u8],
        selection: Selection,
        sets: bool,
    },
    Unknown,
}

/// Information that an INFO or GO asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Wanted {
    pub(super) name: bool,
    pub(super) description: bool,
    pub(super) block_size: bool,
}

/// Whether queries for metadata contexts name the only context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Selection {
    Nothing,
    Allocation,
}

/// Why an option was not understood.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Malformed {
    /// Its data does not have the option's form.
    Invalid,
    /// A string in it is longer than strings may be.
    TooBig,
}

impl<'a> ClientOption<'a> {
    pub(super) fn parse(number: u32, data: &'a [u8]) -> Result<Self, Malformed> {
        match number {
            option::EXPORT_NAME => limited(data).map(Self::ExportName),
            // Data that comes with it is ignored, as the protocol asks: the client wants to go.
            option::ABORT => Ok(Self::Abort),
            option::LIST => without_data(Self::List, data),
            option::STARTTLS => without_data(Self::StartTls, data),
            option::STRUCTURED_REPLY => without_data(Self::StructuredReply, data),
            option::INFO | option::GO => Self::info(number == option::GO, data),
            option::LIST_META_CONTEXT | option::SET_META_CONTEXT => {
                Self::meta_context(number == option::SET_META_CONTEXT, data)
            }
            _ => Ok(Self::Unknown),
        }
    }

    fn info(goes: bool, data: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(data);
        let name = limited(reader.string().ok_or(Malformed::Invalid)?)?;
        let count = reader.u16().ok_or(Malformed::Invalid)?;
        let mut wants = Wanted::default();
        for _ in 0..count {
            match reader.u16().ok_or(Malformed::Invalid)? {
                info::NAME => wants.name = true,
                info::DESCRIPTION => wants.description = true,
                info::BLOCK_SIZE => wants.block_size = true,
                // Information that is always sent, or unknown and ignored.
                _ => {}
            }
        }
        if reader.is_empty() { Ok(Self::Info { name, wants, goes }) } else { Err(Malformed::Invalid) }
    }

    fn meta_context(sets: bool, data: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(data);
        let name = limited(reader.string().ok_or(Malformed::Invalid)?)?;
        let count = reader.u32().ok_or(Malformed::Invalid)?;
        // No query lists everything, but selects nothing.
        let mut is_found = count == 0 && !sets;
        // The client chooses the count, but the loop ends with the option's data: each query takes four bytes at least.
        for _ in 0..count {
            let query = limited(reader.string().ok_or(Malformed::Invalid)?)?;
            // "base:" alone asks for all contexts of the namespace. It lists them, and selects none. Unknown queries
            // are ignored.
            is_found |= query == b"base:allocation" || (query == b"base:" && !sets);
        }
        let selection = if is_found { Selection::Allocation } else { Selection::Nothing };
        if reader.is_empty() { Ok(Self::MetaContext { name, selection, sets }) } else { Err(Malformed::Invalid) }
    }
}

fn limited(string: &[u8]) -> Result<&[u8], Malformed> {
    if string.len() <= MAX_STRING_BYTES { Ok(string) } else { Err(Malformed::TooBig) }
}

fn without_data<'a>(option: ClientOption<'a>, data: &[u8]) -> Result<ClientOption<'a>, Malformed> {
    if data.is_empty() { Ok(option) } else { Err(Malformed::Invalid) }
}
