//! H29: leaks the host's handles.

use std::mem::forget;

use wasip2::clocks::monotonic_clock::subscribe_duration;
use wasip2::http::types::Fields;
use wharf_plugin::*;

pub(crate) fn tools(tools: &mut Tools<'_>) {
    tools.add("leak-timers", "Keeps timers.", |_, _: NoArguments| for_ever(|| forget(subscribe_duration(1))));
    tools.add("leak-streams", "Keeps streams.", |_, _: NoArguments| {
        for_ever(|| forget(wasip2::cli::stdin::get_stdin()))
    });
    tools.add("leak-fields", "Keeps header fields.", |_, _: NoArguments| for_ever(|| forget(Fields::new())));
    tools.add("leak-polls", "Keeps a stream's timers while it borrows the stream.", |_, _: NoArguments| {
        let stream = wasip2::cli::stdin::get_stdin();
        for_ever(|| forget(stream.subscribe()))
    });
}

fn for_ever(mut take: impl FnMut()) -> Result<&'static str> {
    loop {
        take();
    }
}
