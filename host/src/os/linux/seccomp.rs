//! Seccomp: filters the system calls of this thread and of its children.

mod worker;

use std::collections::BTreeMap;
use std::io;

use libc::c_long;
use seccompiler::{
    BackendError, BpfProgram, Error, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};
pub use worker::deny_syscalls;

/// The system calls of a process that computes, reads and writes open files, and exits. Which of them
/// are made is up to the C library and the allocator; where another call fails, they use a fallback.
const ALLOWED: [c_long; 32] = [
    libc::SYS_brk,
    libc::SYS_clock_gettime,
    libc::SYS_close,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_fstat,
    libc::SYS_futex,
    libc::SYS_getpid,
    libc::SYS_getrandom,
    libc::SYS_gettid,
    libc::SYS_lseek,
    libc::SYS_madvise,
    libc::SYS_membarrier,
    libc::SYS_mmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_munmap,
    libc::SYS_newfstatat,
    libc::SYS_ppoll,
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_restart_syscall,
    libc::SYS_rseq,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_yield,
    libc::SYS_sigaltstack,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_set_robust_list,
];

/// System calls that only an attacker makes: they kill the process.
const KILLING: [c_long; 22] = [
    libc::SYS_accept4,
    libc::SYS_bind,
    libc::SYS_bpf,
    libc::SYS_clone,
    libc::SYS_clone3,
    libc::SYS_connect,
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_io_uring_setup,
    libc::SYS_kill,
    libc::SYS_listen,
    libc::SYS_mount,
    libc::SYS_perf_event_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_setns,
    libc::SYS_socket,
    libc::SYS_socketpair,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
];

/// From here on the process can use what is open, but create no file, socket, process or thread, and
/// make no memory executable. Unlisted calls fail with `EPERM`; those that only an attacker makes kill
/// the process with `SIGSYS`.
///
/// # Errors
/// If this architecture has no filters, or the kernel rejects them.
pub fn filter_syscalls() -> io::Result<()> {
    filter().map_err(io::Error::other)
}

fn filter() -> Result<(), Error> {
    let allow = compile(allowed()?, SeccompAction::Errno(libc::EPERM as u32), SeccompAction::Allow, machine()?)?;
    let kill = compile(killing(), SeccompAction::Allow, SeccompAction::KillProcess, machine()?)?;
    // The strictest action of all filters applies. In the other order the first filter would reject
    // the installation of the second.
    seccompiler::apply_filter(&kill)?;
    seccompiler::apply_filter(&allow)
}

fn machine() -> Result<TargetArch, BackendError> {
    TargetArch::try_from(std::env::consts::ARCH)
}

type Rules = BTreeMap<c_long, Vec<SeccompRule>>;

fn allowed() -> Result<Rules, BackendError> {
    let mut rules: Rules = ALLOWED.into_iter().map(|call| (call, Vec::new())).collect();
    // The protection is the third argument of both.
    let executable = libc::PROT_EXEC as u64;
    for call in [libc::SYS_mmap, libc::SYS_mprotect] {
        let not_executable = SeccompCondition::new(2, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(executable), 0)?;
        rules.insert(call, vec![SeccompRule::new(vec![not_executable])?]);
    }
    Ok(rules)
}

fn killing() -> Rules {
    KILLING.into_iter().map(|call| (call, Vec::new())).collect()
}

fn compile(
    rules: Rules,
    on_mismatch: SeccompAction,
    on_match: SeccompAction,
    machine: TargetArch,
) -> Result<BpfProgram, Error> {
    let filter = SeccompFilter::new(rules, on_mismatch, on_match, machine)?;
    Ok(filter.try_into()?)
}
