// How the console shows things. Whatever a server says becomes text, never markup.

export const of = (id) => document.getElementById(id);

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });

/** count writes a whole number; what is no number is shown as not known. */
export const count = (n) => (typeof n === "number" ? whole.format(n) : "–");

/** rate writes what comes per second. */
export const rate = (n) => (n === undefined ? "–" : (n >= 1000 ? whole.format(n) : short.format(n)) + "/s");

/** size writes bytes. */
export const size = (n) => {
	if (typeof n !== "number") return "–";
	const units = ["B", "KiB", "MiB", "GiB", "TiB"];
	let unit = 0;
	for (; n >= 1024 && unit < units.length - 1; unit++) n /= 1024;
	return (unit === 0 ? whole : short).format(n) + " " + units[unit];
};

/** duration leaves out the zeros at a duration's end: 24h0m0s is 24h. */
export const duration = (text) => String(text ?? "").replace(/m0s$/, "m").replace(/h0m$/, "h");

/** element makes one with text in it. */
export const element = (tag, text, kind) => {
	const made = document.createElement(tag);
	if (text !== undefined) made.textContent = text;
	if (kind) made.className = kind;
	return made;
};

/** button makes one that does something; while it does, it does it once. */
export const button = (text, kind, act) => {
	const made = element("button", text, kind);
	made.type = "button";
	made.addEventListener("click", () => busy(made, act));
	return made;
};

/** busy runs act unless it runs already. */
export const busy = async (control, act) => {
	if (control.getAttribute("aria-busy") === "true") return;
	control.setAttribute("aria-busy", "true");
	try {
		await act();
	} finally {
		control.removeAttribute("aria-busy");
	}
};

/** put sets text and class only where they changed, so that a selection in the page stays. */
export const put = (at, text, kind) => {
	if (at.textContent !== text) at.textContent = text;
	if (kind !== undefined && at.className !== kind) at.className = kind;
};

/** complain shows what went wrong, or takes it away. */
export const complain = (at, text) => {
	at.hidden = !text;
	put(at, text ?? "");
};

/**
 * rows keeps a table's body as its items are. A row stays the same element as
 * long as its key does, so that the focus stays where it is from look to look.
 */
export const rows = (body, make, fill) => {
	let kept = new Map();
	const columns = body.rows[0].cells[0].colSpan;
	const labels = [...body.parentElement.tHead.rows[0].cells].map((cell) => (cell.querySelector(".hidden") ? "" : cell.textContent));
	const made = (item) => {
		const row = make(item);
		labels.forEach((label, i) => {
			row.cells[i].dataset.label = label; // shown where the table's head is not: on a phone
		});
		return row;
	};
	return (items, keyOf, empty) => {
		const next = new Map();
		for (const item of items) {
			const key = keyOf(item);
			const row = kept.get(key) ?? made(item);
			fill(row, item);
			next.set(key, row);
		}
		kept = next;
		const all = [...next.values()];
		if (all.length === 0) {
			const row = document.createElement("tr");
			const cell = element("td", empty, "none");
			cell.colSpan = columns;
			row.append(cell);
			if (body.rows.length !== 1 || body.rows[0].textContent !== empty) body.replaceChildren(row);
			return;
		}
		all.forEach((row, i) => {
			if (body.rows[i] !== row) body.insertBefore(row, body.rows[i] ?? null);
		});
		while (body.rows.length > all.length) body.deleteRow(-1);
	};
};

/** cells makes a row of n cells. */
export const cells = (n) => {
	const row = document.createElement("tr");
	for (let i = 0; i < n; i++) row.insertCell();
	return row;
};
