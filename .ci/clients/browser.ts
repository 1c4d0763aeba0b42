// What a browser does for a client, and Node does not: an address without a host is the server's, and a cookie
// is sent back where its path fits. An answer that the proxy finds fault with is an error.
declare const process: { env: Record<string, string> };
export const WAYBILL = process.env.WAYBILL!;
export const KEY = process.env.KEY!;
export const TOKEN = process.env.TOKEN!;

const send = globalThis.fetch;
const cookies = new Map<string, { value: string; path: string }>();

globalThis.fetch = async (input, init) => {
  const request = new Request(typeof input === "string" ? new URL(input, WAYBILL) : input, init);
  const at = new URL(request.url).pathname;
  const fits = [...cookies].filter(([, c]) => at === c.path || at.startsWith(c.path.replace(/\/?$/, "/")));
  if (fits.length > 0) request.headers.set("cookie", fits.map(([name, c]) => name + "=" + c.value).join("; "));
  const answer = await send(request);
  for (const line of answer.headers.getSetCookie()) {
    const [, name, value, path] = /^(\w+)=([^;]*);.*Path=([^;]*)/.exec(line) ?? [];
    if (name && value && path) cookies.set(name, { value, path });
  }
  must(!answer.headers.has("sl-violations"), request.method + " " + at, answer.headers.get("sl-violations"));
  return answer;
};

// must ends the client with what was not as it must be.
export function must(ok: unknown, what: string, answer: unknown): asserts ok {
  if (!ok) throw new Error(what + ": " + JSON.stringify(answer));
}

// daysFromNow is a date that offers are searched for, or an end of a report's range.
export const daysFromNow = (n: number) => new Date(Date.now() + n * 24 * 60 * 60 * 1000);
export const dateOf = (t: Date) => t.toISOString().slice(0, 10);
export const pause = () => new Promise((done) => setTimeout(done, 100));

// passengers of a booking: one with everything, in letters beyond ASCII, one with as little as there may be.
export const passengers = [
  { firstName: "Леся", lastName: "Українка", email: "леся@приклад.укр", phones: [{ phone: "+380441234567" }] },
  { firstName: "Ivan", lastName: "Franko" },
];
