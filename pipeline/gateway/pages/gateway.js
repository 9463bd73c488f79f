// The page of the gateway: sends the request of a pressed button and shows the reply.
// Text from a server is inserted as text, never as markup (ms-D20).
"use strict";
(() => {
	const kept = 12; // exchanges that stay listed
	const of = (id) => document.getElementById(id);
	const [name, id, data, body] = ["name", "id", "data", "body"].map(of);

	// compose fills the body from the fields.
	const compose = () => {
		const log = { name: name.value, data: data.value };
		if (id.value) log.id = id.value;
		body.value = JSON.stringify({ action: "log", log }, null, 1);
	};
	for (const field of [name, id, data]) field.addEventListener("input", compose);

	const pretty = (text) => {
		try {
			return JSON.stringify(JSON.parse(text), null, 2);
		} catch {
			return text;
		}
	};
	const messageOf = (text) => {
		try {
			const told = JSON.parse(text);
			return typeof told.message === "string" ? told.message : "";
		} catch {
			return text;
		}
	};

	const cell = (row, text, kind) => {
		const td = row.insertCell();
		td.textContent = text;
		if (kind) td.className = kind;
	};
	const told = of("told");
	const past = of("past");
	let listed = 0;
	const list = (exchange) => {
		if (listed === 0) past.replaceChildren();
		const row = past.insertRow(0);
		cell(row, exchange.at.toLocaleTimeString([], { hour12: false }), "when");
		cell(row, exchange.path, "code to");
		cell(row, exchange.status, exchange.ok ? "code" : "code bad");
		cell(row, exchange.took.toFixed(1), "number");
		cell(row, exchange.message);
		if (++listed > kept) past.deleteRow(-1);
	};

	const show = (exchange) => {
		of("request").textContent = exchange.request;
		of("reply").textContent = exchange.reply;
		of("took").textContent = exchange.took.toFixed(1) + " ms";
		const verdict = of("verdict");
		verdict.textContent = exchange.status;
		verdict.className = exchange.ok ? "badge good" : "badge bad";
		verdict.hidden = false;
	};

	const send = async (method, path) => {
		const options = { method, headers: {}, cache: "no-store" };
		let request = method + " " + path + "\n";
		if (method === "POST" && path !== "/") {
			options.headers["Content-Type"] = "application/json";
			options.body = body.value;
			request += "Content-Type: application/json\n\n" + body.value;
		}
		const exchange = { at: new Date(), path: method + " " + path, request, ok: false };
		const begun = performance.now();
		try {
			const reply = await fetch(path, options);
			const text = await reply.text();
			const headers = ["content-type", "x-request-id", "retry-after"]
				.filter((header) => reply.headers.has(header)).map((header) => header + ": " + reply.headers.get(header));
			exchange.ok = reply.ok;
			exchange.status = String(reply.status);
			exchange.reply = ["HTTP " + reply.status + " " + reply.statusText, ...headers].join("\n") + "\n\n" + pretty(text);
			exchange.message = messageOf(text);
		} catch (error) {
			exchange.status = "none";
			exchange.reply = "No reply: " + error.message;
			exchange.message = "no reply";
		}
		exchange.took = performance.now() - begun;
		return exchange;
	};

	for (const button of document.querySelectorAll("button[data-path]")) {
		button.addEventListener("click", async () => {
			if (button.getAttribute("aria-busy") === "true") return;
			button.setAttribute("aria-busy", "true");
			const exchange = await send(button.dataset.method, button.dataset.path);
			button.removeAttribute("aria-busy");
			show(exchange);
			list(exchange);
			// On a phone the reply is far below the paths. Scroll until all of it is visible, not its heading only.
			const from = told.getBoundingClientRect().top;
			const to = of("reply").getBoundingClientRect().bottom;
			if (from < 0 || to > innerHeight) told.scrollIntoView({ behavior: "instant", block: "start" });
		});
	}

	// The state is fetched once. The button GET /health fetches it again.
	const state = of("state");
	const look = async () => {
		try {
			const reply = await fetch("/health", { cache: "no-store" });
			const told = await reply.json();
			const paths = told.data.paths;
			const there = paths.filter((path) => path.ok).length;
			state.textContent = reply.ok ? there + " of " + paths.length + " paths work" : told.message;
			state.classList.add(reply.ok ? "good" : "bad");
		} catch {
			state.textContent = "the gateway does not answer";
			state.classList.add("bad");
		}
	};
	compose();
	look();
})();
