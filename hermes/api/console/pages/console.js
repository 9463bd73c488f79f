// The console: looks at the node every two seconds and shows what it says.
import { Failure, call, onTokenWanted, wantToken } from "/console/api.js";
import { button, cells, complain, count, duration, element, of, put, rate, rows, size } from "/console/show.js";
import { choose as chooseToTry } from "/console/try.js";

const pauseBetween = 2000; // ms from the end of one look to the next
const lookTime = 10000; // ms that a look may take
const pageOf = 100; // topics on a page

let chosen = ""; // the topic whose groups are shown
let after = ""; // the page of topics begins behind this name
let next = ""; // the page behind this one
let paused = false;
let timer = 0;
let looking = null;

let refusedToken = false; // the person was asked for a token in vain: ask no more until there is one

// ask asks the node on behalf of a look.
const ask = (path) => call("GET", path, undefined, { signal: AbortSignal.timeout(lookTime), quiet: refusedToken });

// Nodes.

// consoleOf is the address of another node's console, if what it calls its HTTP address can be one.
const consoleOf = (address) => {
	try {
		const at = new URL(location.protocol + "//" + address + "/");
		return at.host === address || at.hostname === address.replace(/:\d+$/, "") ? at.href : "";
	} catch {
		return "";
	}
};

const showMembers = rows(of("members"), () => cells(6), (row, { member, cluster }) => {
	const [node, role, reached, behind, grpc, http] = row.cells;
	const self = member.id === cluster.node;
	const known = cluster.leader === cluster.node; // the leader alone knows of the others
	put(node, (member.name || "node") + " · " + member.id + (self ? " · this one" : ""));
	const leads = member.id === cluster.leader;
	row.classList.toggle("dead", known && !self && !member.reached);
	put(role, leads ? "leader" : member.learner ? "learner" : "follower", leads ? "good" : "");
	if (self || !known) put(reached, self ? "–" : "the leader knows", "none");
	else put(reached, member.reached ? "yes" : "no", member.reached ? "good" : "bad");
	const lack = Math.max(0, cluster.committed - (self ? cluster.applied : member.match ?? 0));
	if (self || known && member.reached) put(behind, lack === 0 ? "0" : count(lack) + (lack === 1 ? " entry" : " entries"), "number");
	else put(behind, "–", "number none");
	put(grpc, member.grpc || "–", "code");
	const to = self ? "" : consoleOf(member.http ?? "");
	if (http.dataset.to === to + " " + member.http) return;
	http.dataset.to = to + " " + member.http;
	http.className = "code";
	const link = element("a", member.http);
	link.href = to;
	http.replaceChildren(to ? link : member.http || "–");
});

const lookAtNodes = async () => {
	const cluster = await ask("/v1/cluster");
	showMembers(cluster.members.map((member) => ({ member, cluster })), ({ member }) => member.id, "There is no node.");
	const leader = cluster.members.find((member) => member.id === cluster.leader);
	const known = cluster.leader === cluster.node;
	put(of("nodes-note"), "Term " + cluster.term + ", " + count(cluster.committed) + " entries of the log committed, " + count(cluster.applied) + " applied here." +
		(cluster.unready ? " This node is not ready: " + cluster.unready + "." : "") +
		(known ? "" : " Who is reached, and how far behind, the leader’s console tells."));
	const leads = leader ? (leader.name || "node " + leader.id) + " leads " + cluster.members.length + (cluster.members.length === 1 ? " node" : " nodes") : "no node leads";
	// A follower does not know whether the others live: then the light is neither green nor amber.
	const reached = cluster.members.filter((member) => member.id === cluster.node || member.reached).length;
	const lacking = known && reached < cluster.members.length;
	put(of("state"), leads + (cluster.unready ? "; this one is not ready" : lacking ? "; " + reached + " of " + cluster.members.length + " nodes reached" : ""),
		!leader || cluster.unready ? "state bad" : lacking ? "state warn" : known ? "state good" : "state");
};

// Topics.

let seen = new Map(); // by id: a topic's next and rate, at the last look that counts
const rateTime = 1000; // ms: looks that are closer say little of a rate

// watch is what is known of a topic after a look at it.
const watch = (topic, now) => {
	const before = seen.get(topic.id);
	if (before && now - before.at < rateTime) return before;
	return { next: topic.next, at: now, rate: before && (topic.next - before.next) * 1000 / (now - before.at) };
};

// own reports whether a topic is the broker's own, such as hermes.dlq: nothing that a user made, and
// nothing to be deleted by a slip.
const own = (topic) => topic.name === "hermes.dlq";

const showTopics = rows(of("topic-rows"), (topic) => {
	const row = cells(8);
	const name = button(topic.name, "link", () => choose(topic.name));
	row.cells[0].append(name);
	if (own(topic)) {
		put(row.cells[7], "the broker’s own", "none");
		return row;
	}
	const gone = button("Delete…", "small", () => askDelete(row.topic));
	gone.setAttribute("aria-label", "Delete " + topic.name + "…");
	row.cells[7].append(gone);
	return row;
}, (row, topic) => {
	row.topic = topic;
	row.querySelector(".link").setAttribute("aria-pressed", String(topic.name === chosen));
	const kept = [topic.retention_bytes ? size(topic.retention_bytes) : "", topic.retention_age && topic.retention_age !== "0s" ? "for " + duration(topic.retention_age) : ""].filter(Boolean);
	put(row.cells[1], count(topic.first), "number");
	put(row.cells[2], count(topic.next), "number");
	put(row.cells[3], rate(seen.get(topic.id).rate), "number");
	put(row.cells[4], size(topic.bytes), "number");
	put(row.cells[5], kept.join(", ") || "all, for ever", kept.length ? "" : "none");
	put(row.cells[6], count(topic.subscribers), "number");
});

let named = "";
const lookAtTopics = async () => {
	const prefix = of("prefix").value;
	const query = new URLSearchParams({ limit: pageOf });
	if (prefix) query.set("prefix", prefix);
	if (after) query.set("after", after);
	const told = await ask("/v1/topics?" + query);
	const now = performance.now();
	seen = new Map(told.topics.map((topic) => [topic.id, watch(topic, now)]));
	// The broker's own come last: people look for theirs.
	told.topics.sort((a, b) => own(a) - own(b));
	showTopics(told.topics, (topic) => topic.name, prefix ? "No topic’s name begins so." : "There is no topic yet.");
	next = told.next ?? "";
	of("later").disabled = !next;
	of("earlier").disabled = !after;
	const names = told.topics.map((topic) => topic.name);
	if (named === names.join("\n")) return;
	named = names.join("\n");
	of("names").replaceChildren(...names.map((name) => {
		const option = document.createElement("option");
		option.value = name;
		return option;
	}));
};

// Groups.

const showGroups = rows(of("group-rows"), (group) => {
	const row = cells(10);
	for (const [text, what, act] of [["Reset…", "Reset", () => askSeek(row.group)], ["Remove…", "Remove", () => askRemove(row.group)]]) {
		const made = button(text, "small", act);
		made.setAttribute("aria-label", what + " " + group.name + "…");
		row.cells[9].append(made, " ");
	}
	return row;
}, (row, group) => {
	row.group = group;
	[group.name, count(group.lag), count(group.in_flight), count(group.redelivered), count(group.dead), count(group.trimmed), count(group.members), count(group.floor),
		duration(group.ack_timeout) + ", " + group.max_attempts + " times"].forEach((text, i) => {
		put(row.cells[i], text, i === 0 ? "code" : i === 8 ? "" : i === 4 && group.dead > 0 || i === 5 && group.trimmed > 0 ? "number bad" : "number");
	});
});

const lookAtGroups = async () => {
	const topic = chosen;
	if (!topic) return;
	let told;
	try {
		told = await ask("/v1/topics/" + encodeURIComponent(topic) + "/groups");
	} catch (error) {
		if (topic !== chosen) return;
		showGroups([], () => "", "Nothing is known of its groups.");
		throw error;
	}
	if (topic === chosen) showGroups(told.groups, (group) => group.topic + "/" + group.name, "This topic has no groups.");
};

const choose = (topic) => {
	chosen = topic;
	put(of("groups-of"), topic ? "of " + topic : "");
	for (const name of document.querySelectorAll("#topic-rows .link")) name.setAttribute("aria-pressed", String(name.textContent === topic));
	if (topic) chooseToTry(topic);
	else showGroups([], () => "", "Press a topic to see its groups.");
	return look();
};

// Looking.

const part = async (problem, doing) => {
	try {
		await doing();
		complain(problem);
		return null;
	} catch (error) {
		complain(problem, error instanceof Failure ? error.code + ": " + error.message : String(error));
		return error;
	}
};

const lookOnce = async () => {
	clearTimeout(timer);
	const failed = (await Promise.all([part(of("nodes-problem"), lookAtNodes), part(of("topics-problem"), lookAtTopics),
		part(of("groups-problem"), lookAtGroups)])).filter(Boolean);
	document.body.classList.toggle("stale", failed.some((error) => error.status === 0 || error.status === 401));
	refusedToken = failed.some((error) => error.status === 401);
	if (refusedToken) put(of("state"), "the node asks for a token", "state bad");
	else if (failed.some((error) => error.status === 0)) put(of("state"), "the node does not answer", "state bad");
	if (!paused && !document.hidden && !refusedToken) timer = setTimeout(look, pauseBetween);
};

// look looks now. One that runs is waited for and followed by another: it may have asked before what changed.
let again = false;
const look = () => {
	if (looking) {
		again = true;
		return looking;
	}
	looking = (async () => {
		do {
			again = false;
			await lookOnce();
		} while (again && !refusedToken); // who left the question is not asked it again by what was to follow
	})().finally(() => {
		looking = null;
	});
	return looking;
};

of("pause").addEventListener("click", () => {
	paused = !paused;
	of("pause").setAttribute("aria-pressed", String(paused));
	of("pause").textContent = paused ? "Go on" : "Pause";
	clearTimeout(timer);
	if (!paused) look();
});
document.addEventListener("visibilitychange", () => {
	clearTimeout(timer);
	if (!document.hidden && !paused) look();
});
document.addEventListener("changed", () => {
	if (!paused && !refusedToken) look();
});
of("prefix").addEventListener("input", () => {
	after = "";
	look();
});
of("earlier").addEventListener("click", () => {
	after = "";
	look();
});
of("later").addEventListener("click", () => {
	after = next;
	look();
});

// Questions. question opens a dialog and gives what its form came to: a value, or null if it was left.

const question = (dialog, form, cancel, submit) => new Promise((resolve) => {
	const own = new AbortController();
	const end = (value) => {
		own.abort();
		if (dialog.open) dialog.close();
		resolve(value);
	};
	form.addEventListener("submit", async (event) => {
		event.preventDefault();
		const value = await submit();
		if (value !== undefined) end(value);
	}, { signal: own.signal });
	cancel.addEventListener("click", () => end(null), { signal: own.signal });
	dialog.addEventListener("cancel", () => end(null), { signal: own.signal });
	dialog.showModal();
});

onTokenWanted(async (why) => {
	of("token-why").textContent = why;
	of("token-text").value = "";
	const given = await question(of("token-dialog"), of("token-form"), of("token-cancel"), async () => of("token-text").value.trim());
	of("token-text").value = "";
	if (given !== null) {
		refusedToken = false;
		setTimeout(look); // once the token is in use
	}
	return given;
});
of("token").addEventListener("click", () => wantToken("The node is shown this with all that this page asks from now on; nothing forgets the one before."));

const told = (problem, doing) => part(problem, doing).then((error) => (error ? undefined : true));

of("make").addEventListener("click", async () => {
	for (const id of ["make-name", "make-age", "make-bytes"]) of(id).value = "";
	complain(of("make-problem"));
	let name = "";
	const made = await question(of("make-dialog"), of("make-form"), of("make-cancel"), () => told(of("make-problem"), async () => {
		name = of("make-name").value;
		const config = {};
		if (of("make-age").value.trim()) config.retention_age = of("make-age").value.trim();
		if (of("make-bytes").value) config.retention_bytes = Number(of("make-bytes").value);
		await call("PUT", "/v1/topics/" + encodeURIComponent(name), config);
	}));
	if (made) choose(name);
});

// confirm has a person write a name before its form can be sent.
const confirm = (field, go, name) => {
	field.value = "";
	go.disabled = true;
	field.oninput = () => {
		go.disabled = field.value !== name;
	};
};

const askDelete = async (topic) => {
	of("delete-of").textContent = topic.name;
	of("delete-what").textContent = topic.next - topic.first === 1 ? "its one message" : "its " + count(topic.next - topic.first) + " messages";
	confirm(of("delete-name"), of("delete-do"), topic.name);
	complain(of("delete-problem"));
	const gone = await question(of("delete-dialog"), of("delete-form"), of("delete-cancel"), () => told(of("delete-problem"), async () => {
		if (of("delete-name").value !== topic.name) throw new Failure({ code: "no", detail: "this is not its name" });
		await call("DELETE", "/v1/topics/" + encodeURIComponent(topic.name));
	}));
	if (gone) choose(topic.name === chosen ? "" : chosen);
};

const pathOf = (group) => "/v1/topics/" + encodeURIComponent(group.topic) + "/groups/" + encodeURIComponent(group.name);

const askSeek = async (group) => {
	of("seek-of").textContent = group.name;
	of("seek-topic").textContent = group.topic;
	of("seek-what").textContent = "It has dealt with all before " + count(group.floor) + ", and " + count(group.lag) + (group.lag === 1 ? " message waits." : " messages wait.");
	of("seek-to").value = "oldest";
	of("seek-offset").value = String(group.floor);
	const settle = () => {
		const offset = of("seek-to").value === "offset";
		of("seek-offset-field").hidden = !offset;
		of("seek-offset").required = offset;
	};
	of("seek-to").onchange = settle;
	settle();
	complain(of("seek-problem"));
	const moved = await question(of("seek-dialog"), of("seek-form"), of("seek-cancel"), () => told(of("seek-problem"), async () => {
		const to = of("seek-to").value;
		await call("POST", pathOf(group) + "/seek", { from: to === "offset" ? of("seek-offset").value : to });
	}));
	if (moved) look();
};

const askRemove = async (group) => {
	of("remove-of").textContent = group.name;
	of("remove-topic").textContent = group.topic;
	of("remove-what").textContent = group.members === 1 ? "one member’s subscription" : count(group.members) + " members’ subscriptions";
	confirm(of("remove-name"), of("remove-do"), group.name);
	complain(of("remove-problem"));
	const gone = await question(of("remove-dialog"), of("remove-form"), of("remove-cancel"), () => told(of("remove-problem"), async () => {
		if (of("remove-name").value !== group.name) throw new Failure({ code: "no", detail: "this is not its name" });
		await call("DELETE", pathOf(group));
	}));
	if (gone) look();
};

look();
