//! What the process of one plugin may not ask of the kernel: it runs threads, files and requests, so its calls are not
//! listed, but those that reach other processes, or what landlock does not guard.

use std::io;

use libc::c_long;
use seccompiler::{BackendError, Error, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule};

use super::{KILLING, Rules, compile, machine};

/// Of those that only an attacker makes elsewhere, what this process does itself. It starts threads, but no process.
const ITS_OWN: [c_long; 3] = [libc::SYS_clone, libc::SYS_clone3, libc::SYS_socketpair];
/// The same, for one that sends requests: name resolution binds a socket of the kernel.
const OF_NETWORK: [c_long; 3] = [libc::SYS_bind, libc::SYS_connect, libc::SYS_socket];

/// Signals and priorities of other processes, memory and messages that processes share, keys, and what belongs to files:
/// landlock guards neither their modes and owners nor their attributes.
const ALSO_KILLING: [c_long; 43] = [
    libc::SYS_accept,
    libc::SYS_add_key,
    libc::SYS_chroot,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_fremovexattr,
    libc::SYS_fsetxattr,
    libc::SYS_io_uring_enter,
    libc::SYS_ioprio_set,
    libc::SYS_keyctl,
    libc::SYS_lremovexattr,
    libc::SYS_lsetxattr,
    libc::SYS_mknodat,
    libc::SYS_mq_open,
    libc::SYS_msgget,
    libc::SYS_move_mount,
    libc::SYS_open_by_handle_at,
    libc::SYS_personality,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_send_signal,
    libc::SYS_pivot_root,
    libc::SYS_process_madvise,
    libc::SYS_process_mrelease,
    libc::SYS_quotactl,
    libc::SYS_reboot,
    libc::SYS_removexattr,
    libc::SYS_request_key,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_setattr,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setscheduler,
    libc::SYS_semget,
    libc::SYS_setpriority,
    libc::SYS_setxattr,
    libc::SYS_shmget,
    libc::SYS_swapon,
    libc::SYS_tgkill,
    libc::SYS_tkill,
    libc::SYS_umount2,
];
/// Newer ones, with the same numbers on all architectures: `fchmodat2`, `setxattrat`, `removexattrat`.
const NEW: [c_long; 3] = [452, 463, 466];
/// Those of them that only older architectures have.
#[cfg(target_arch = "x86_64")]
const OLD: &[c_long] = &[
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_fork,
    libc::SYS_lchown,
    libc::SYS_mknod,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
    libc::SYS_vfork,
];
#[cfg(not(target_arch = "x86_64"))]
const OLD: &[c_long] = &[];

/// From here on this thread, and all that it starts, cannot run programs, start processes, reach into others, or change
/// what files belong to whom; without `network`, they cannot use sockets either, and with it no others than those of
/// TCP, UDP and name resolution. Who tries kills the process with `SIGSYS`.
///
/// # Errors
/// If this architecture has no filters, or the kernel rejects them.
pub fn deny_syscalls(network: bool) -> io::Result<()> {
    filter(network).map_err(io::Error::other)
}

fn filter(network: bool) -> Result<(), Error> {
    let refused =
        compile(refused()?, SeccompAction::Allow, SeccompAction::Errno(libc::EAFNOSUPPORT as u32), machine()?)?;
    // The C library then starts threads by `clone`, whose flags can be seen.
    let unseen = Rules::from([(libc::SYS_clone3, Vec::new())]);
    let unseen = compile(unseen, SeccompAction::Allow, SeccompAction::Errno(libc::ENOSYS as u32), machine()?)?;
    let killing = compile(killing(network)?, SeccompAction::Allow, SeccompAction::KillProcess, machine()?)?;
    [refused, unseen, killing].iter().try_for_each(|program| seccompiler::apply_filter(program))
}

/// Sockets that no request needs. Some libraries try them, and go on without.
fn refused() -> Result<Rules, BackendError> {
    let others = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK].map(|family| is_not(0, family as u64));
    let others = SeccompRule::new(others.into_iter().collect::<Result<_, _>>()?)?;
    // Without the flags, which are in the higher bits.
    let raw = SeccompCondition::new(1, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(0xf), libc::SOCK_RAW as u64)?;
    let raw = SeccompRule::new(vec![raw, is_not(0, libc::AF_NETLINK as u64)?])?;
    Ok(Rules::from([(libc::SYS_socket, vec![others, raw])]))
}

fn killing(network: bool) -> Result<Rules, BackendError> {
    let all = KILLING.iter().chain(&ALSO_KILLING).chain(&NEW).chain(OLD);
    let kept = all.filter(|call| !(ITS_OWN.contains(call) || network && OF_NETWORK.contains(call)));
    let mut rules: Rules = kept.map(|call| (*call, Vec::new())).collect();
    let thread = libc::CLONE_THREAD as u64;
    let process = SeccompCondition::new(0, SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(thread), 0)?;
    rules.insert(libc::SYS_clone, vec![SeccompRule::new(vec![process])?]);
    // The limits of other processes, and times of files by path.
    rules.insert(libc::SYS_prlimit64, vec![SeccompRule::new(vec![is_not(0, 0)?])?]);
    rules.insert(libc::SYS_utimensat, vec![SeccompRule::new(vec![is_not(1, 0)?])?]);
    Ok(rules)
}

fn is_not(argument: u8, value: u64) -> Result<SeccompCondition, BackendError> {
    let length = if argument == 1 { SeccompCmpArgLen::Qword } else { SeccompCmpArgLen::Dword };
    SeccompCondition::new(argument, length, SeccompCmpOp::Ne, value)
}
