// openapi-fetch: the types of openapi-typescript around fetch.
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";
import { KEY, TOKEN, WAYBILL, dateOf, daysFromNow, must, passengers, pause } from "./browser.js";

const client = createClient<paths>({ baseUrl: WAYBILL, headers: { "x-api-key": KEY } });

const login = await client.POST("/v2/auth/idp/login", { body: { idToken: TOKEN } });
must(login.data?.data.session.revokedAt === null, "sign in", login);

const search = await client.GET("/v2/offers", {
  params: {
    query: { departureCitySlug: "kyiv", arrivalCitySlug: "lviv", departureDate: dateOf(daysFromNow(3)), passengers: 2 },
  },
});
const own = login.data.data.access.companyId;
const offer = search.data?.data.offers.find((o) => o.slices[0]?.route.company.id === own);
must(offer, "search", search);

const booked = await client.POST("/v2/bookings", { body: { offerId: offer.id, currency: "UAH", passengers } });
const booking: components["schemas"]["Booking"] | undefined = booked.data?.data.booking;
const [first, second] = booking?.tickets ?? [];
must(booking && first && second && first.slices[0]?.seat.label !== second.slices[0]?.seat.label, "book", booked);

const pay = (key: string) =>
  client.POST("/v2/bookings/{id}/pay", {
    params: { path: { id: booking.id }, header: { "Idempotency-Key": key } },
    body: { ticketIds: [first.id] },
  });
const paid = await pay('"first"');
const states = paid.data?.data.booking.tickets.map((t) => t.paymentStatus).join();
must(states === "Paid,Unpaid", "pay", paid);
const repeated = await pay('"first"');
must(repeated.response.headers.get("Idempotent-Replayed") === "true", "repeat", repeated);
const again = await pay('"second"');
const e = again.error?.errors[0];
must(again.response.status === 409 && e?.errorCode === "CONFLICT", "pay again", again);
must(e.details?.ordersIds?.join() === first.id && e.details?.reason === "STATE", "pay again", again);

const params = { path: { id: booking.id } };
const outlook = await client.POST("/v2/bookings/{id}/cancel/preview", { params });
must(outlook.data?.data.total === first.price.amount, "preview", outlook);

const known = await client.GET("/v2/events", { params: { query: { take: 1 } } });
const query = { after: known.data?.data.total ?? 0, wait: 20 };
const waiting = client.GET("/v2/events", { params: { query } });
const canceled = await client.POST("/v2/bookings/{id}/cancel", { params });
must(canceled.data?.data.booking.tickets[0]?.refundAmount === first.price.amount, "cancel", canceled);
const news = await waiting;
must(news.data?.data.events.map((x) => x.type).join() === "ticket.refunded,ticket.canceled", "events", news);

const ordered = await client.POST("/v2/reports/company/orders", {
  body: { startDate: daysFromNow(0).toISOString(), endDate: daysFromNow(5).toISOString() },
});
const report = ordered.data?.data.report;
must(report?.expiresAt === null, "report", ordered);
let link: string | undefined;
for (let n = 0; n < 100 && !link; n++) {
  const download = await client.GET("/v2/reports/company/orders/{id}/download", { params: { path: { id: report.id } } });
  link = download.data?.data.url;
  if (!link) {
    must(download.error?.errors[0]?.details?.reason === "NOT_READY", "download", download);
    await pause();
  }
}
const token = link?.split("/").pop() ?? "";
const file = await client.GET("/v2/reports/files/{token}", { params: { path: { token } }, parseAs: "text" });
must(file.data?.includes(first.id), "file", file);
console.log("openapi-fetch: signed in, searched, booked, paid, canceled, waited for events, read a report");
