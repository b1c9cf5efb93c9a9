// The page's side of MCP Apps 2026-01-26.
const wharf = (() => {
  const root = document.documentElement, host = parent;
  const waiting = new Map(), listeners = {}, last = {}, context = {};
  let count = 0, plugin;
  const post = (message) => host.postMessage({ jsonrpc: "2.0", ...message }, "*");
  const notify = (method, params = {}) => post({ method, params });
  const request = (method, params = {}) => new Promise((resolve, reject) => {
    waiting.set(++count, { resolve, reject });
    post({ id: count, method, params });
  });
  const emit = (name, params) => Promise.all((listeners[name] ?? []).map((call) => call(params)));

  function update(changed) {
    Object.assign(context, changed);
    const { theme, styles } = context;
    if (theme) root.style.colorScheme = root.dataset.theme = theme;
    for (const [name, value] of Object.entries(styles?.variables ?? {})) root.style.setProperty(name, value ?? "");
  }

  // What the content needs, whatever the frame has.
  function measure() {
    const { style } = root, before = style.height;
    style.height = "max-content";
    const width = Math.ceil(innerWidth), height = Math.ceil(root.getBoundingClientRect().height);
    style.height = before;
    notify("ui/notifications/size-changed", { width, height });
  }

  async function answer(id, method, params) {
    if (method === "ui/resource-teardown") await emit("teardown", params).catch(console.error);
    else if (method !== "ping") return post({ id, error: { code: -32601, message: "unknown method" } });
    post({ id, result: {} });
  }

  addEventListener("message", ({ source, data }) => {
    if (source !== host || data?.jsonrpc !== "2.0") return;
    const { id, method, params, result, error } = data;
    if (!method) {
      const { resolve, reject } = waiting.get(id) ?? {};
      waiting.delete(id);
      return error ? reject?.(Object.assign(Error(), error)) : resolve?.(result);
    }
    if (id !== undefined) return answer(id, method, params);
    const name = method.replace("ui/notifications/", "");
    if (name === "host-context-changed") update(params);
    plugin = params?._meta?.["wharf/plugin"] ?? plugin;
    emit(name, (last[name] = params)).catch(console.error);
  });

  const ready = request("ui/initialize", {
    protocolVersion: "2026-01-26",
    appInfo: { name: document.title || "page", version: "1" },
    appCapabilities: {},
  }).then((result) => {
    update(result.hostContext);
    notify("ui/notifications/initialized");
    new ResizeObserver(measure).observe(root);
  });

  return {
    context, ready, request, notify,
    // Calls also with what came before.
    on(name, call) {
      (listeners[name] ??= []).push(call);
      if (name in last) call(last[name]);
    },
    // By the plugin's own name of the tool.
    callTool: (name, args = {}) =>
      request("tools/call", { name: plugin && plugin !== name ? plugin + "_" + name : name, arguments: args }),
    updateModelContext: (params) => request("ui/update-model-context", params),
  };
})();
