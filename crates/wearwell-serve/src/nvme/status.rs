//! The status of a command.

use std::fmt;

/// A status: its type and its code, as NVM Express Base 2.1 numbers them (section 4.2.3).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Status(u16);

/// Set if repeating the command unchanged is useless.
const DO_NOT_RETRY: u16 = 1 << 14;

/// Makes the list of statuses: type, code and name.
macro_rules! statuses {
    ($($name:ident = $value:literal, $about:literal;)*) => {
        impl Status {
            $(#[doc = $about] pub const $name: Self = Self($value);)*

            fn about(self) -> &'static str {
                match self.0 { $($value => $about,)* _ => "another status" }
            }
        }
    };
}

statuses! {
    SUCCESS = 0x000, "success";
    INVALID_OPCODE = 0x001, "no such command";
    INVALID_FIELD = 0x002, "a field of the command has a wrong value";
    COMMAND_ID_CONFLICT = 0x003, "a command with this number is under way";
    INTERNAL = 0x006, "the device failed";
    INVALID_NAMESPACE = 0x00b, "no such namespace";
    COMMAND_SEQUENCE = 0x00c, "not now";
    SGL_TYPE_INVALID = 0x011, "descriptors of this type are not supported";
    SGL_LENGTH_INVALID = 0x00f, "the descriptor has another length than the command";
    SGL_OFFSET_INVALID = 0x016, "the descriptor's offset lies outside the capsule";
    KEEP_ALIVE_INVALID = 0x01a, "not a keep-alive time-out";
    WRITE_PROTECTED = 0x020, "the namespace is write protected";
    TRANSIENT_TRANSPORT = 0x022, "data was damaged on its way";
    FDP_DISABLED = 0x029, "flexible data placement is disabled";
    LBA_OUT_OF_RANGE = 0x080, "blocks beyond the namespace";
    CAPACITY_EXCEEDED = 0x081, "no room is left";
    ABORT_LIMIT = 0x103, "too many abort commands";
    EVENT_LIMIT = 0x105, "too many requests for asynchronous events";
    INVALID_LOG_PAGE = 0x109, "no such log page";
    FEATURE_NOT_SAVEABLE = 0x10d, "the feature cannot be saved";
    FEATURE_NOT_CHANGEABLE = 0x10e, "the feature cannot be changed";
    CONNECT_FORMAT = 0x180, "a format of connect that is not supported";
    CONNECT_BUSY = 0x181, "no further controller, for now";
    CONNECT_PARAMETERS = 0x182, "connect has a wrong parameter";
    CONNECT_HOST = 0x184, "the host may not connect";
    INVALID_QUEUE_TYPE = 0x185, "not a command for this kind of queue";
    AUTHENTICATION_REQUIRED = 0x191, "not before the host has shown who it is";
    COPY_TOO_LARGE = 0x183, "more blocks or ranges than one copy may have";
    WRITE_FAULT = 0x280, "the data could not be written";
    READ_ERROR = 0x281, "the data could not be read";
    COMPARE_FAILURE = 0x285, "the data is not the same";
}

impl Status {
    /// Type and code: `type << 8 | code`.
    pub fn number(self) -> u16 {
        self.0
    }

    /// The status field of a completion.
    pub(super) fn field(self) -> u16 {
        // Bit 0 of the field is the phase, which is not used over fabrics.
        let again = matches!(self, Self::SUCCESS | Self::TRANSIENT_TRANSPORT | Self::CONNECT_BUSY);
        (if again { self.0 } else { self.0 | DO_NOT_RETRY }) << 1
    }
}

impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#05x} ({})", self.0, self.about())
    }
}
