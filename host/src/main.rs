fn main() {
    if std::env::args_os()
        .nth(1)
        .is_some_and(|arg| arg == wharf::plugin::compile::WORKER)
    {
        std::process::exit(wharf::plugin::compile::worker::run());
    }
}
