//! Seccomp: which system calls this thread, and what it starts, can make.

use std::collections::BTreeMap;
use std::io;

use libc::c_long;
use seccompiler::{
    BackendError, BpfProgram, Error, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

/// What a process makes use of that reads and writes what is open, computes and ends. The C
/// library and the allocator decide which of them; a call that is missing here fails there, and
/// they do without.
const COMPUTES: [c_long; 32] = [
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

/// What only somebody tries who has taken the process over: it ends at once.
const KILLS: [c_long; 22] = [
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

/// Computes from here on, with what is open: no file, socket, process or thread is made, and no
/// memory becomes executable. What is not foreseen fails with `EPERM`, what only an attacker
/// would want ends the process with `SIGSYS`.
///
/// # Errors
/// If there are no filters on this machine, or the kernel refuses these.
pub fn only_compute() -> io::Result<()> {
    filter().map_err(io::Error::other)
}

fn filter() -> Result<(), Error> {
    let machine = TargetArch::try_from(std::env::consts::ARCH)?;
    let allow = compile(computes()?, SeccompAction::Errno(libc::EPERM as u32), SeccompAction::Allow, machine)?;
    let kill = compile(kills(), SeccompAction::Allow, SeccompAction::KillProcess, machine)?;
    // The strictest answer of all filters counts. The other way round, the second would be refused.
    seccompiler::apply_filter(&kill)?;
    seccompiler::apply_filter(&allow)
}

type Rules = BTreeMap<c_long, Vec<SeccompRule>>;

fn computes() -> Result<Rules, BackendError> {
    let mut rules: Rules = COMPUTES.into_iter().map(|call| (call, Vec::new())).collect();
    // The protection is the third argument of both.
    let executable = libc::PROT_EXEC as u64;
    for call in [libc::SYS_mmap, libc::SYS_mprotect] {
        let not = SeccompCondition::new(2, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(executable), 0)?;
        rules.insert(call, vec![SeccompRule::new(vec![not])?]);
    }
    Ok(rules)
}

fn kills() -> Rules {
    KILLS.into_iter().map(|call| (call, Vec::new())).collect()
}

fn compile(rules: Rules, other: SeccompAction, these: SeccompAction, machine: TargetArch) -> Result<BpfProgram, Error> {
    let filter = SeccompFilter::new(rules, other, these, machine)?;
    Ok(filter.try_into()?)
}
