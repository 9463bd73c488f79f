// How the console asks the node: one caller, one token, one reader of events.
// The token is kept in this module's memory and nowhere else.

let token = "";
let asking = null; // the question for a token that is open, so that calls share it
let left = 0; // how often a person left that question
let ask = async () => null; // set by the part that shows the question

/** onTokenWanted sets what asks the person: it gives a token, or null for none. */
export const onTokenWanted = (question) => {
	ask = question;
};

/** wantToken asks for a token; calls that need one at the same time share the answer. */
export const wantToken = (why) => {
	asking ??= ask(why).then((given) => {
		if (given !== null) token = given;
		else left++;
		return given !== null;
	}).finally(() => {
		asking = null;
	});
	return asking;
};

/** send sends a request with the token, and asks for one if the node wants it. quiet: the user is not asked. */
export const send = async (method, path, options = {}) => {
	for (let tries = 0; ; tries++) {
		const used = token;
		const leftBefore = left;
		const headers = { ...options.headers };
		if (used) headers.Authorization = "Bearer " + used;
		const reply = await fetch(path, {
			method, headers, body: options.body, signal: options.signal, cache: "no-store", credentials: "omit",
		});
		if (reply.status !== 401 || options.quiet) return reply;
		if (used !== token) continue; // the user gave one in the meantime
		const why = used ? "The node does not take this token: " : "The node asks who you are: ";
		const problem = await problemOf(reply.clone());
		if (leftBefore !== left) return reply; // the person left the question that another call asked in the meantime
		if (!await wantToken(why + problem.detail)) return reply;
	}
};

/** problemOf reads a failure's body; whatever it is, it is text. */
export const problemOf = async (reply) => {
	const text = await reply.text();
	try {
		const told = JSON.parse(text);
		if (typeof told.detail === "string") return { status: reply.status, code: String(told.code), detail: told.detail, text };
	} catch { /* a proxy's page, say */ }
	return { status: reply.status, code: "status " + reply.status, detail: text.slice(0, 400) || reply.statusText, text };
};

/** Failure is a call that did not go well; its message is what the node said. */
export class Failure extends Error {
	constructor(problem) {
		super(problem.detail);
		this.code = problem.code;
		this.status = problem.status;
		this.text = problem.text ?? problem.detail;
	}
}

/** call sends JSON and gives the reply's, or throws a Failure. */
export const call = async (method, path, value, options = {}) => {
	const sent = { ...options };
	if (value !== undefined) {
		sent.headers = { "Content-Type": "application/json" };
		sent.body = JSON.stringify(value);
	}
	let reply;
	try {
		reply = await send(method, path, sent);
		if (reply.ok) return reply.status === 204 ? null : await reply.json();
	} catch (error) {
		throw new Failure({ status: 0, code: "no answer", detail: "the node does not answer (" + error.message + ")" });
	}
	throw new Failure(await problemOf(reply));
};

/** events reads server-sent events as they come. fetch, and not EventSource, since that cannot send a token. */
export async function* events(path, signal) {
	const reply = await send("GET", path, { headers: { Accept: "text/event-stream" }, signal });
	if (!reply.ok) throw new Failure(await problemOf(reply));
	const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
	let rest = "";
	let event = { name: "message", data: [] };
	for (;;) {
		const { value, done } = await reader.read();
		if (done) return;
		const lines = (rest + value).split("\n");
		rest = lines.pop();
		for (const line of lines) {
			if (line === "") {
				if (event.data.length > 0) yield { name: event.name, data: event.data.join("\n") };
				event = { name: "message", data: [] };
				continue;
			}
			const colon = line.indexOf(":");
			if (colon === 0) continue; // a comment
			const field = colon < 0 ? line : line.slice(0, colon);
			const text = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
			if (field === "event") event.name = text;
			if (field === "data") event.data.push(text);
		}
	}
}
