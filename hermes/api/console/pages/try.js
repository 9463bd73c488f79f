// Trying: publish a message and see the verdict, subscribe and see what comes.
import { Failure, call, events } from "/console/api.js";
import { busy, button, element, of, put } from "/console/show.js";

const shown = 100; // messages that stay in the list
const inFlight = 50; // messages of a group at once: fewer than the list shows, so that each can be acknowledged
const textShown = 2000; // characters of a payload

/** choose sets the topic that is tried next. */
export const choose = (topic) => {
	of("publish-topic").value = topic;
	if (!stop) of("subscribe-topic").value = topic;
};

// changed has the rest of the page look now: what was done shows in the tables.
const changed = () => document.dispatchEvent(new Event("changed"));

// Publish.

const base64Of = (file) => new Promise((resolve, reject) => {
	const reader = new FileReader();
	reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(",") + 1)); // of a data: URL
	reader.onerror = () => reject(reader.error);
	reader.readAsDataURL(file);
});

const headersOf = (text) => text.split("\n").filter((line) => line.trim()).map((line) => {
	const colon = line.indexOf(":");
	if (colon < 1) throw new Failure({ code: "invalid_argument", detail: "this header has no colon: " + line });
	return { name: line.slice(0, colon).trim(), value: line.slice(colon + 1).trim() };
});

const compose = async () => {
	const message = {};
	const [file] = of("file").files;
	if (file && file.size > 1 << 20) throw new Failure({ code: "invalid_argument", detail: "the file has " + file.size + " bytes; at most 1 MiB is allowed" });
	if (file) message.payload_base64 = file.size === 0 ? "" : await base64Of(file);
	else message.payload = of("payload").value;
	if (of("key").value) message.key = of("key").value;
	const headers = headersOf(of("headers").value);
	if (headers.length) message.headers = headers;
	return message;
};

const unknown = ["unavailable", "deadline_exceeded", "canceled", "internal", "no answer"];

const publish = async () => {
	const badge = of("published");
	const begun = performance.now();
	let text = "";
	let kind = "badge bad";
	try {
		const message = await compose();
		const path = "/v1/topics/" + encodeURIComponent(of("publish-topic").value) + "/messages?mode=" + of("mode").value;
		const verdict = await call("POST", path, message, { signal: AbortSignal.timeout(40000) });
		text = JSON.stringify(verdict, null, 2);
		kind = "badge good";
		badge.textContent = of("mode").value === "performance" ? "handed on" : verdict.provisional ? "on the leader’s disk" : "stored at offset " + verdict.offset;
	} catch (error) {
		badge.textContent = error.code ?? "failed";
		text = error.message + (unknown.includes(error.code) ? "\n\nIt is unknown whether it was stored." : "\n\nIt was not stored.");
	}
	changed();
	badge.className = kind;
	badge.hidden = false;
	of("verdict").textContent = text + "\n\n" + (performance.now() - begun).toFixed(1) + " ms as this browser sees it";
};
of("publishing").addEventListener("submit", (event) => {
	event.preventDefault();
	busy(of("send"), publish);
});
of("payload").addEventListener("input", () => {
	of("file").value = ""; // the text is what the person means now
});

// Subscribe.

let stop = null; // ends the subscription there is
let subscription = ""; // its id
let pending = new Map(); // the rows that wait for an acknowledgement, by offset
let received = 0;

const byHand = () => of("from").value === "group" && of("ack").value === "manual";

const settle = () => {
	const from = of("from").value;
	of("offset-field").hidden = from !== "offset";
	of("group-field").hidden = of("ack-field").hidden = from !== "group";
	of("offset").required = from === "offset";
	of("group").required = from === "group";
};
of("from").addEventListener("change", settle);
settle();

const say = (text, kind = "") => put(of("listening"), text, "state " + kind);

// answer acknowledges rows, or gives them back.
const answer = async (what, entries) => {
	if (!subscription || entries.length === 0) return;
	const value = { ranges: entries.map(([offset]) => ({ first: offset, last: offset })) };
	if (what === "nack") value.reason = "given back in the console";
	try {
		await call("POST", "/v1/subscriptions/" + encodeURIComponent(subscription) + "/" + what, value);
		for (const [offset, row] of entries) {
			if (pending.get(offset) === row) pending.delete(offset);
			row.querySelector(".act").replaceChildren(element("span", what === "ack" ? "acknowledged" : "given back", what === "ack" ? "done" : "again"));
		}
	} catch (error) {
		say(error.code + ": " + error.message, "bad");
	}
	of("ack-all").disabled = pending.size === 0;
	changed();
};
of("ack-all").addEventListener("click", () => busy(of("ack-all"), () => answer("ack", [...pending])));

const cut = (text) => (text.length > textShown ? text.slice(0, textShown) + "\n… " + (text.length - textShown) + " more characters" : text);
const textOf = (thing, name) => (thing[name + "_base64"] !== undefined ? thing[name + "_base64"] + " (base64)" : thing[name] ?? "");

const show = (message, manual) => {
	const row = document.createElement("li");
	const head = element("p", undefined, "head");
	head.append(element("b", message.attempt === 0 ? "no offset" : String(message.offset)), element("span", new Date(message.time).toLocaleTimeString([], { hour12: false })));
	if (message.attempt > 1) head.append(element("span", "attempt " + message.attempt, "again"));
	if (message.key !== undefined || message.key_base64 !== undefined) head.append(element("span", "key " + cut(textOf(message, "key"))));
	row.append(head);
	for (const header of message.headers ?? []) row.append(element("p", header.name + ": " + cut(textOf(header, "value")), "with"));
	row.append(element("pre", cut(textOf(message, "payload")) || "(empty)"));
	if (manual && message.attempt > 0) {
		const act = element("p", undefined, "act");
		const name = (verb) => verb + " " + message.offset;
		for (const [verb, what] of [["Acknowledge", "ack"], ["Give back", "nack"]]) {
			const made = button(verb, "small", () => answer(what, [[message.offset, row]]));
			made.setAttribute("aria-label", name(verb));
			act.append(made);
		}
		row.append(act);
		pending.set(message.offset, row);
		of("ack-all").disabled = false;
	}
	of("messages").prepend(row);
	while (of("messages").children.length > shown) of("messages").lastChild.remove();
};

const listen = async (signal) => {
	const topic = of("subscribe-topic").value;
	const from = of("from").value;
	const manual = byHand();
	const query = new URLSearchParams(from === "group" ? { group: of("group").value, ack: of("ack").value } : { from: from === "offset" ? of("offset").value : from });
	if (manual) query.set("in_flight", inFlight);
	of("ack-all").hidden = !manual;
	of("ack-all").disabled = true;
	let where = "";
	for await (const event of events("/v1/topics/" + encodeURIComponent(topic) + "/events?" + query, signal)) {
		const told = JSON.parse(event.data);
		if (event.name === "failure") throw new Failure(told);
		if (event.name === "open") {
			subscription = told.subscription;
			where = "Subscribed to " + topic + " at node " + told.node;
			changed();
		} else {
			received++;
			show(told, manual);
		}
		say(where + ": " + (received === 0 ? "nothing came yet." : received === 1 ? "1 message came." : received + " messages came."), "good");
	}
	throw new Failure({ code: "cut", detail: "the stream ended without saying why" });
};

of("subscribing").addEventListener("submit", async (event) => {
	event.preventDefault();
	if (stop) {
		stop.abort();
		return;
	}
	const own = stop = new AbortController();
	const fields = of("subscribing").querySelectorAll("input, select");
	for (const field of fields) field.disabled = true;
	of("listen").textContent = "Stop";
	of("messages").replaceChildren();
	received = 0;
	pending = new Map();
	say("Subscribing…");
	try {
		await listen(own.signal);
	} catch (error) {
		if (own.signal.aborted) say("Not subscribed any more" + (byHand() ? "; what was not acknowledged comes again, to any member of the group." : "."));
		else say((error.code ?? "failed") + ": " + error.message, "bad");
	}
	changed();
	subscription = "";
	stop = null;
	pending.clear();
	for (const row of document.querySelectorAll("#messages .act")) {
		if (row.querySelector("button")) row.remove();
	}
	of("ack-all").hidden = true;
	for (const field of fields) field.disabled = false;
	of("listen").textContent = "Subscribe";
});
