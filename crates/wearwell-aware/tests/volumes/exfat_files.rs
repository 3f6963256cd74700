//! Files on an exFAT volume: a minimal driver that creates, reads and removes them. It keeps no state between
//! operations. `fsck.exfat` checks the result.

use std::collections::BTreeMap;
use std::io;

use wearwell_sim::fat::Device;

use crate::rig::SECTOR;

/// Bytes of a directory entry, and of the three that a file with a short name has.
const ENTRY: usize = 32;
const SET: usize = 3 * ENTRY;
const END_OF_CHAIN: u32 = u32::MAX;

/// A volume with clusters of one sector.
pub(crate) struct ExFat<'a, D> {
    device: &'a mut D,
    fat: u64,
    heap: u64,
    clusters: u32,
    bitmap: u32,
    root: Vec<u32>,
}

/// A file, from its directory entries.
struct Entry {
    /// The offset of its entries in the root directory.
    at: usize,
    name: String,
    first: u32,
    bytes: usize,
    is_chained: bool,
}

impl<'a, D: Device> ExFat<'a, D> {
    pub(crate) fn mount(device: &'a mut D) -> io::Result<Self> {
        let mut boot = [0; SECTOR];
        device.read(0, &mut boot)?;
        assert!(&boot[3..11] == b"EXFAT   " && boot[109] == 0, "exFAT with clusters of a sector");
        let (fat, heap, first) = (word(&boot, 80).into(), word(&boot, 88).into(), word(&boot, 96));
        let mut volume = Self { device, fat, heap, clusters: word(&boot, 92), bitmap: 0, root: vec![first] };
        volume.root = volume.chain(first)?;
        let root = volume.directory()?;
        let bitmap = root.chunks(ENTRY).find(|entry| entry[0] == 0x81).expect("a volume has a bitmap");
        volume.bitmap = word(bitmap, 20);
        Ok(volume)
    }

    fn sector_of(&self, cluster: u32) -> u64 {
        self.heap + u64::from(cluster - 2)
    }

    /// Changes a few bytes of a sector.
    fn change(&mut self, lba: u64, at: usize, bytes: &[u8]) -> io::Result<()> {
        let mut sector = [0; SECTOR];
        self.device.read(lba, &mut sector)?;
        sector[at..at + bytes.len()].copy_from_slice(bytes);
        self.device.write(lba, &sector)
    }

    fn next(&mut self, cluster: u32) -> io::Result<u32> {
        let mut sector = [0; SECTOR];
        self.device.read(self.fat + u64::from(cluster) / 128, &mut sector)?;
        Ok(word(&sector, cluster as usize % 128 * 4))
    }

    fn set_next(&mut self, cluster: u32, next: u32) -> io::Result<()> {
        self.change(self.fat + u64::from(cluster) / 128, cluster as usize % 128 * 4, &next.to_le_bytes())
    }

    /// The chain of clusters from one on. A table that was cut while it was written may lead anywhere.
    fn chain(&mut self, first: u32) -> io::Result<Vec<u32>> {
        let mut chain = Vec::new();
        let mut cluster = first;
        while (2..self.clusters + 2).contains(&cluster) && !chain.contains(&cluster) {
            chain.push(cluster);
            cluster = self.next(cluster)?;
        }
        Ok(chain)
    }

    /// A bit for each cluster, as bytes.
    fn bits(&mut self) -> io::Result<Vec<u8>> {
        let sectors = self.clusters.div_ceil(8).div_ceil(SECTOR as u32);
        let mut bits = vec![0; sectors as usize * SECTOR];
        self.device.read(self.sector_of(self.bitmap), &mut bits)?;
        Ok(bits)
    }

    /// The sectors of clusters that are free in the bitmap.
    pub(crate) fn free_sectors(&mut self) -> io::Result<Vec<u64>> {
        let bits = self.bits()?;
        let free = (0..self.clusters).filter(|&bit| bits[bit as usize / 8] >> (bit % 8) & 1 == 0);
        Ok(free.map(|bit| self.heap + u64::from(bit)).collect())
    }

    fn mark(&mut self, clusters: &[u32], is_used: bool) -> io::Result<()> {
        let mut bits = self.bits()?;
        for bit in clusters.iter().map(|cluster| cluster - 2) {
            let byte = &mut bits[bit as usize / 8];
            *byte = if is_used { *byte | 1 << (bit % 8) } else { *byte & !(1 << (bit % 8)) };
        }
        let first = self.sector_of(self.bitmap);
        for (lba, sector) in (first..).zip(bits.chunks(SECTOR)) {
            self.change(lba, 0, sector)?;
        }
        Ok(())
    }

    fn directory(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; self.root.len() * SECTOR];
        for (cluster, out) in self.root.clone().into_iter().zip(bytes.chunks_mut(SECTOR)) {
            self.device.read(self.sector_of(cluster), out)?;
        }
        Ok(bytes)
    }

    /// Writes directory entries one by one, because they may lie in two clusters.
    fn put_entries(&mut self, at: usize, entries: &[u8]) -> io::Result<()> {
        for (entry, at) in entries.chunks(ENTRY).zip((at..).step_by(ENTRY)) {
            self.change(self.sector_of(self.root[at / SECTOR]), at % SECTOR, entry)?;
        }
        Ok(())
    }

    /// Extends the root directory for more files.
    pub(crate) fn grow_root(&mut self, clusters: usize) -> io::Result<()> {
        let new = self.free_clusters(clusters)?;
        for &cluster in &new {
            self.device.write(self.sector_of(cluster), &[0; SECTOR])?;
        }
        self.mark(&new, true)?;
        self.root.extend(new);
        self.link(&self.root.clone())
    }

    fn link(&mut self, chain: &[u32]) -> io::Result<()> {
        for (place, &cluster) in chain.iter().enumerate() {
            self.set_next(cluster, chain.get(place + 1).copied().unwrap_or(END_OF_CHAIN))?;
        }
        Ok(())
    }

    /// The first free clusters.
    fn free_clusters(&mut self, count: usize) -> io::Result<Vec<u32>> {
        let free = self.free_sectors()?;
        let clusters: Vec<u32> = free.into_iter().take(count).map(|lba| (lba - self.heap) as u32 + 2).collect();
        if clusters.len() == count { Ok(clusters) } else { Err(io::Error::other("the volume is full")) }
    }

    fn entries(&mut self) -> io::Result<Vec<Entry>> {
        let root = self.directory()?;
        let is_set = |set: &&[u8]| set.len() == SET && set[0] == 0x85 && set[ENTRY] == 0xC0 && set[2 * ENTRY] == 0xC1;
        let sets = (0..root.len()).step_by(ENTRY).filter_map(|at| Some((at, root.get(at..at + SET)?)));
        let entry = |(at, set): (usize, &[u8])| {
            let units = (0..usize::from(set[ENTRY + 3])).map(|i| char::from(set[2 * ENTRY + 2 + 2 * i]));
            let (first, bytes) = (word(set, ENTRY + 20), word(set, ENTRY + 24) as usize);
            Entry { at, name: units.collect(), first, bytes, is_chained: set[ENTRY + 1] & 2 == 0 }
        };
        Ok(sets.filter(|(_, set)| is_set(set)).map(entry).collect())
    }

    fn clusters_of(&mut self, file: &Entry) -> io::Result<Vec<u32>> {
        let count = file.bytes.div_ceil(SECTOR) as u32;
        let in_a_row = (file.first..file.first.saturating_add(count)).filter(|cluster| *cluster < self.clusters + 2);
        if file.is_chained { self.chain(file.first) } else { Ok(in_a_row.collect()) }
    }

    /// Every file, and all of its bytes that can be reached.
    pub(crate) fn files(&mut self) -> io::Result<BTreeMap<String, Vec<u8>>> {
        let mut files = BTreeMap::new();
        for file in self.entries()? {
            let clusters = self.clusters_of(&file)?;
            let mut bytes = vec![0; clusters.len() * SECTOR];
            for (cluster, out) in clusters.into_iter().zip(bytes.chunks_mut(SECTOR)) {
                self.device.read(self.sector_of(cluster), out)?;
            }
            bytes.truncate(file.bytes);
            files.insert(file.name, bytes);
        }
        Ok(files)
    }

    /// Creates a file: its data, its chain, its bits, its name.
    pub(crate) fn create(&mut self, name: &str, data: &[u8]) -> io::Result<()> {
        let clusters = self.free_clusters(data.len().div_ceil(SECTOR))?;
        for (&cluster, bytes) in clusters.iter().zip(data.chunks(SECTOR)) {
            let mut sector = [0; SECTOR];
            sector[..bytes.len()].copy_from_slice(bytes);
            self.device.write(self.sector_of(cluster), &sector)?;
        }
        let is_chained = clusters.windows(2).any(|pair| pair[0] + 1 != pair[1]);
        if is_chained {
            self.link(&clusters)?;
        }
        self.mark(&clusters, true)?;
        let root = self.directory()?;
        let is_unused = |at: &usize| root[*at..at + SET].chunks(ENTRY).all(|entry| entry[0] & 0x80 == 0);
        let at = (0..root.len() - SET).step_by(ENTRY).find(is_unused);
        let at = at.ok_or_else(|| io::Error::other("the directory is full"))?;
        self.put_entries(at, &entry_set(name, clusters[0], data.len(), is_chained))?;
        self.device.flush()
    }

    /// Removes a file: its name, then its bits. Its entries in the table stay.
    pub(crate) fn remove(&mut self, name: &str) -> io::Result<()> {
        let Some(file) = self.entries()?.into_iter().find(|file| file.name == name) else { return Ok(()) };
        let clusters = self.clusters_of(&file)?;
        let mut set = self.directory()?[file.at..file.at + SET].to_vec();
        set.chunks_mut(ENTRY).for_each(|entry| entry[0] &= 0x7F);
        self.put_entries(file.at, &set)?;
        self.mark(&clusters, false)?;
        self.device.flush()
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn sum(bytes: impl Iterator<Item = u8>) -> [u8; 2] {
    bytes.fold(0_u16, |sum, byte| sum.rotate_right(1).wrapping_add(byte.into())).to_le_bytes()
}

/// The directory entries of a file whose name is up to fifteen capitals and digits.
fn entry_set(name: &str, first: u32, bytes: usize, is_chained: bool) -> [u8; SET] {
    let mut set = [0; SET];
    (set[0], set[1], set[4], set[ENTRY], set[2 * ENTRY]) = (0x85, 2, 0x20, 0xC0, 0xC1);
    // The first of January 2022.
    for at in [8, 12, 16] {
        set[at..at + 4].copy_from_slice(&0x5421_0000_u32.to_le_bytes());
    }
    (set[ENTRY + 1], set[ENTRY + 3]) = (if is_chained { 1 } else { 3 }, name.len() as u8);
    set[ENTRY + 4..ENTRY + 6].copy_from_slice(&sum(name.bytes().flat_map(|byte| [byte, 0])));
    for at in [ENTRY + 8, ENTRY + 24] {
        set[at..at + 8].copy_from_slice(&(bytes as u64).to_le_bytes());
    }
    set[ENTRY + 20..ENTRY + 24].copy_from_slice(&first.to_le_bytes());
    for (i, byte) in name.bytes().enumerate() {
        set[2 * ENTRY + 2 + 2 * i] = byte;
    }
    let checksum = sum(set.iter().enumerate().filter(|(at, _)| !matches!(at, 2 | 3)).map(|(_, &byte)| byte));
    set[2..4].copy_from_slice(&checksum);
    set
}
