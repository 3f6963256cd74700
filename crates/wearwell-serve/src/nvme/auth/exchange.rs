//! The controller's side of an authentication, on one queue.
//!
//! The host sends NEGOTIATE, fetches CHALLENGE, sends REPLY, fetches SUCCESS_1, and sends SUCCESS_2 if it challenged
//! the controller. Whatever else it sends leads to FAILURE_1, which it fetches, and then the connection ends.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::Entropy;
use super::group::{self, Exponent};
use super::hash::Hash;
use super::messages::{
    CHALLENGE, Challenge, FAILURE_1, Failure, Head, NEGOTIATE, Negotiate, PROTOCOL, REPLY, Reply, SUCCESS_1, SUCCESS_2,
    Success, Why,
};
use super::secret::KnownHost;

/// The roles of those who answer.
const ROLE_HOST: &str = "HostHost";
const ROLE_CONTROLLER: &str = "Controller";
/// No DH group.
const NO_GROUP: u8 = 0;

/// Where an authentication is.
enum Step {
    /// The host begins.
    Negotiate,
    /// The host fetches the challenge.
    Challenge(Question),
    /// The host answers it.
    Reply(Question),
    /// The host fetches the controller's answer; none if it has not asked.
    Success { transaction: u16, hash: Hash, answer: Option<Vec<u8>> },
    /// The host says whether it is content with the answer.
    Verdict { transaction: u16 },
    /// The host fetches why it has failed.
    Failure { transaction: u16, why: Why },
}

/// A challenge.
struct Question {
    transaction: u16,
    sequence: u32,
    hash: Hash,
    challenge: Vec<u8>,
    /// The private exponent, if both sides have the group.
    exponent: Option<Exponent>,
}

/// What a message that the host fetched means for the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::nvme) enum Outcome {
    GoesOn,
    /// The connection ends.
    Failed,
}

/// The two that talk.
struct Parties {
    host: KnownHost,
    subsystem_nqn: String,
}

/// The authentication of a queue.
pub(in crate::nvme) struct Exchange {
    parties: Parties,
    entropy: Entropy,
    step: Step,
    /// Whether the host has shown who it is. A further authentication does not change that, unless it fails.
    is_done: bool,
}

impl Exchange {
    /// The authentication of a host that has connected to a subsystem by this name.
    pub(in crate::nvme) fn new(host: KnownHost, subsystem_nqn: &str, entropy: Entropy) -> Self {
        let parties = Parties { host, subsystem_nqn: subsystem_nqn.to_owned() };
        Self { parties, entropy, step: Step::Negotiate, is_done: false }
    }

    pub(in crate::nvme) fn is_done(&self) -> bool {
        self.is_done
    }

    /// Takes a message of the host.
    pub(in crate::nvme) fn take(&mut self, message: &[u8]) {
        let transaction = Head::read_from_prefix(message).map_or(0, |(head, _)| head.transaction.get());
        // The step is moved out, since a challenge is used up by an answer, right or wrong.
        let step = std::mem::replace(&mut self.step, Step::Negotiate);
        let next = match step {
            Step::Negotiate => negotiated(message, self.entropy).map(Step::Challenge),
            Step::Reply(question) => {
                let replied = question.replied(message, &self.parties);
                // A host that asks nothing is let in as soon as its answer is right. One that asks has to say first
                // that it is content.
                self.is_done |= matches!(replied, Ok(Step::Success { answer: None, .. }));
                replied
            }
            Step::Verdict { transaction: of } => parse::<Head>(message, SUCCESS_2, Some(of)).map(|_| {
                self.is_done = true;
                Step::Negotiate
            }),
            // These are for the host to fetch.
            Step::Challenge(_) | Step::Success { .. } | Step::Failure { .. } => Err(Why::Message),
        };
        self.step = next.unwrap_or_else(|why| {
            self.is_done = false;
            Step::Failure { transaction, why }
        });
    }

    /// The message that the host fetches.
    pub(in crate::nvme) fn fetch(&mut self) -> (Vec<u8>, Outcome) {
        let step = std::mem::replace(&mut self.step, Step::Negotiate);
        let (message, next) = match step {
            Step::Challenge(question) => (question.message(), Step::Reply(question)),
            Step::Success { transaction, hash, answer } => {
                let next = if answer.is_some() { Step::Verdict { transaction } } else { Step::Negotiate };
                (success(transaction, hash, answer), next)
            }
            Step::Failure { transaction, why } => return (failure(transaction, why), Outcome::Failed),
            Step::Negotiate => return (failure(0, Why::Message), Outcome::Failed),
            Step::Reply(Question { transaction, .. }) | Step::Verdict { transaction } => {
                return (failure(transaction, Why::Message), Outcome::Failed);
            }
        };
        self.step = next;
        (message, Outcome::GoesOn)
    }
}

/// A message of the expected kind, and of the authentication that is under way.
fn parse<T: FromBytes + KnownLayout + Immutable>(
    message: &[u8],
    kind: [u8; 2],
    of: Option<u16>,
) -> Result<(T, &[u8]), Why> {
    let (head, _) = Head::read_from_prefix(message).map_err(|_| Why::Payload)?;
    if head.kind != kind || of.is_some_and(|of| of != head.transaction.get()) {
        return Err(Why::Message);
    }
    T::read_from_prefix(message).map_err(|_| Why::Payload)
}

/// Chooses the first hash of the host's list, and the group if the host has it.
fn negotiated(message: &[u8], entropy: Entropy) -> Result<Question, Why> {
    // The transaction's number is the host's choice, and is checked from here on.
    let (wanted, _) = parse::<Negotiate>(message, NEGOTIATE, None)?;
    if wanted.secure_channel != 0 {
        return Err(Why::SecureChannel);
    }
    if wanted.protocols == 0 || wanted.protocol != PROTOCOL {
        return Err(Why::NotUsable);
    }
    // The list is the host's, the one that it likes best first.
    let hash = wanted.hashes().iter().find_map(|&id| Hash::from_id(id)).ok_or(Why::Hash)?;
    let has_group = wanted.groups().contains(&group::ID);
    if !has_group && !wanted.groups().contains(&NO_GROUP) {
        return Err(Why::Group);
    }
    let (mut sequence, mut challenge) = ([0; 4], vec![0; hash.bytes()]);
    let mut exponent = has_group.then_some([0; group::EXPONENT_BYTES]);
    // A challenge that can be guessed is worth nothing, so no zeros take the place of missing random bytes.
    let is_filled =
        entropy(&mut sequence) && entropy(&mut challenge) && exponent.as_mut().is_none_or(|exponent| entropy(exponent));
    if !is_filled {
        return Err(Why::Failed);
    }
    // 0 would mean that there is no challenge.
    let sequence = u32::from_le_bytes(sequence).max(1);
    Ok(Question { transaction: wanted.head.transaction.get(), sequence, hash, challenge, exponent })
}

impl Question {
    fn message(&self) -> Vec<u8> {
        let public = self.exponent.as_ref().map(group::public);
        let public = public.as_ref().map_or(&[][..], |public| &public[..]);
        let head = Challenge {
            head: head(CHALLENGE, self.transaction),
            hash_bytes: self.hash.bytes() as u8,
            reserved: 0,
            hash: self.hash.id(),
            group: if self.exponent.is_some() { group::ID } else { NO_GROUP },
            public_bytes: (public.len() as u16).into(),
            sequence: self.sequence.into(),
        };
        [head.as_bytes(), &self.challenge, public].concat()
    }

    /// Checks the host's answer, and makes the controller's if the host asks for it.
    fn replied(&self, message: &[u8], parties: &Parties) -> Result<Step, Why> {
        let (reply, rest) = parse::<Reply>(message, REPLY, Some(self.transaction))?;
        let bytes = self.hash.bytes();
        let public_bytes = usize::from(reply.public_bytes.get());
        if usize::from(reply.hash_bytes) != bytes {
            return Err(Why::Hash);
        }
        // The place of the host's challenge is there even if it asks nothing. A public value comes if, and only if,
        // there is a group.
        if rest.len() < 2 * bytes + public_bytes || (public_bytes > 0) != self.exponent.is_some() {
            return Err(Why::Payload);
        }
        let (answer, rest) = rest.split_at(bytes);
        let (challenge, rest) = rest.split_at(bytes);
        let shared = match &self.exponent {
            Some(exponent) => Some(group::shared(exponent, &rest[..public_bytes]).ok_or(Why::Payload)?),
            None => None,
        };
        let Parties { host, subsystem_nqn } = parties;
        let said =
            self.statement(shared.as_ref(), &self.challenge, self.sequence, [ROLE_HOST, &host.nqn, subsystem_nqn]);
        if !self.hash.is_tag(&host.secret.key_of(&host.nqn), &said, answer) {
            return Err(Why::Failed);
        }
        let answer = if reply.has_challenge == 0 {
            None
        } else {
            // Without a secret the controller cannot show who it is, and a host that asked must not be content.
            let secret = host.controller.as_ref().ok_or(Why::Failed)?;
            let names = [ROLE_CONTROLLER, subsystem_nqn, &host.nqn];
            let said = self.statement(shared.as_ref(), challenge, reply.sequence.get(), names);
            Some(self.hash.tag(&secret.key_of(subsystem_nqn), &[&said]))
        };
        Ok(Step::Success { transaction: self.transaction, hash: self.hash, answer })
    }

    /// What an answer to a challenge is the HMAC of: also the role and the name of the one who answers, and the name of
    /// the other.
    fn statement(
        &self,
        shared: Option<&[u8; group::BYTES]>,
        challenge: &[u8],
        sequence: u32,
        [role, own, other]: [&str; 3],
    ) -> Vec<u8> {
        // With a group, the answer is to the challenge's HMAC under the hash of the shared value.
        let bound = shared.map(|shared| self.hash.tag(&self.hash.of(shared), &[challenge]));
        let challenge = bound.as_deref().unwrap_or(challenge);
        let transaction = self.transaction.to_le_bytes();
        // The first zero says that there is no secure channel.
        let parts: [&[u8]; 8] = [
            challenge,
            &sequence.to_le_bytes(),
            &transaction,
            &[0],
            role.as_bytes(),
            own.as_bytes(),
            &[0],
            other.as_bytes(),
        ];
        parts.concat()
    }
}

fn head(kind: [u8; 2], transaction: u16) -> Head {
    Head { kind, reserved: [0; 2], transaction: transaction.into() }
}

fn success(transaction: u16, hash: Hash, answer: Option<Vec<u8>>) -> Vec<u8> {
    let head = Success {
        head: head(SUCCESS_1, transaction),
        hash_bytes: hash.bytes() as u8,
        reserved: 0,
        has_answer: answer.is_some().into(),
        reserved_too: [0; 7],
    };
    [head.as_bytes(), &answer.unwrap_or_default()].concat()
}

fn failure(transaction: u16, why: Why) -> Vec<u8> {
    Failure { head: head(FAILURE_1, transaction), reason: 1, explanation: why as u8 }.as_bytes().to_vec()
}
