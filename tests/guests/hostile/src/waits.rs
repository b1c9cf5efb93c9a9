//! H40: waits for something that never happens, or polls for it.

use std::time::Duration;

use wasip2::clocks::monotonic_clock::subscribe_duration;
use wasip2::io::poll::poll;
use wasip2::random::random::get_random_bytes;
use wharf_plugin::*;

#[derive(Deserialize, JsonSchema)]
struct Sleep {
    seconds: Option<u64>,
}

pub(crate) fn tools(tools: &mut Tools<'_>) {
    tools.add("sleep", "Sleeps, for ever if it is not said how long.", |_, args: Sleep| {
        std::thread::sleep(args.seconds.map_or(Duration::MAX, Duration::from_secs));
        Ok("awake")
    });
    tools.add("poll", "Waits for two things that never come.", |_, _: NoArguments| {
        poll(&[&subscribe_duration(u64::MAX), &subscribe_duration(u64::MAX)]);
        Ok("ready")
    });
    tools.add("poll-spin", "Waits for nothing, again and again.", |_, _: NoArguments| -> Result<&str> {
        loop {
            poll(&[&subscribe_duration(0)]);
        }
    });
    tools.add("random", "Takes 64 MiB of random bytes at once.", |_, _: NoArguments| {
        Ok(get_random_bytes(64 << 20).len().to_string())
    });
    tools.add("random-spin", "Takes as many as it may, again and again.", |_, _: NoArguments| -> Result<&str> {
        loop {
            get_random_bytes(64 << 10);
        }
    });
}
