//! The macro behind the lists of policies.

/// Makes a choice of policies: an enum with one variant for each, and their names if the feature `names` is on.
///
/// A line is `Variant { parameters } (type) = "form", "what it does";`. The form is what a user writes: the name, and
/// its parameters after colons. The name of a parameter is that of its field. A parameter without a default has to be
/// given. The type is not used here. If a policy needs more than a `match`, the list is a macro of its own, which is
/// expanded once for the choice and once for the policies in force.
macro_rules! policies {
    ($(#[$attribute:meta])* $choice:ident: $(
        $variant:ident $({ $($(#[$note:meta])* $param:ident: $number:ty $(= $default:expr)?),+ })? $(($type:ty))?
            = $form:literal, $about:literal;
    )+) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, Copy, PartialEq)]
        #[non_exhaustive]
        pub enum $choice { $(
            #[doc = $about]
            $variant $({ $($(#[$note])* $param: $number,)+ })?,
        )+ }

        #[cfg(feature = "names")]
        impl $choice {
            /// Every policy: the form that [`parse`](Self::parse) takes, and what it does.
            pub const LIST: &'static [(&'static str, &'static str)] = &[$(($form, $about),)+];

            /// Reads a name, and its parameters after colons. A parameter is given in its place, or anywhere as
            /// `NAME=VALUE`. Parameters with a default may be left out.
            pub fn parse(text: &str) -> Option<Self> {
                let (name, mut parts) = crate::names::Parts::of(text);
                $(if name == crate::names::base($form) {
                    let policy = Self::$variant $({ $(
                        $param: crate::names::take_or(
                            &mut parts,
                            stringify!($param),
                            policies!(@default $($default)?),
                        )?,
                    )+ })?;
                    return parts.is_empty().then_some(policy);
                })+
                None
            }

            /// The names of the parameters of the policy that `text` names, in order.
            pub fn parameters(text: &str) -> impl Iterator<Item = &'static str> + use<> {
                let name = crate::names::base(text);
                let mut lists: &[&[&str]] = &[];
                $($(if name == crate::names::base($form) {
                    lists = const { &[$(crate::names::names_of::<$number>(&[stringify!($param)])),+] };
                })?)+
                lists.iter().copied().flatten().copied()
            }
        }

        #[cfg(feature = "names")]
        impl core::fmt::Display for $choice {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                match self { $(
                    Self::$variant $({ $($param),+ })? => {
                        f.write_str(crate::names::base($form))?;
                        $($(crate::names::Parameter::write($param, f)?;)+)?
                    }
                )+ }
                Ok(())
            }
        }
    };
    (@default) => { None };
    (@default $default:expr) => { Some($default) };
}

/// Makes one policy a choice of its own: a type with its parameters.
macro_rules! choice {
    ($about:literal $policy:ident) => {
        #[doc = $about]
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $policy;
    };
    ($about:literal $policy:ident { $($(#[$note:meta])* $param:ident: $number:ty),+ }) => {
        #[doc = $about]
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $policy { $($(#[$note])* pub $param: $number,)+ }
    };
}
