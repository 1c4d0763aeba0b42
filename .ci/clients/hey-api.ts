// hey-api: a function for each operation.
import { client } from "./hey-api/client.gen.js";
import * as api from "./hey-api/sdk.gen.js";
import type { Booking, Error as Problem } from "./hey-api/types.gen.js";
import { KEY, TOKEN, WAYBILL, dateOf, daysFromNow, must, passengers, pause } from "./browser.js";

client.setConfig({ baseUrl: WAYBILL, headers: { "x-api-key": KEY } });

const login = await api.login({ body: { idToken: TOKEN } });
must(login.data?.data.session.revokedAt === null, "sign in", login);

const search = await api.searchOffers({
  query: { departureCitySlug: "kyiv", arrivalCitySlug: "lviv", departureDate: dateOf(daysFromNow(3)), passengers: 2 },
});
const own = login.data.data.access.companyId;
const offer = search.data?.data.offers.find((o) => o.slices[0]?.route.company.id === own);
must(offer, "search", search);

const booked = await api.createBooking({ body: { offerId: offer.id, currency: "UAH", passengers } });
const booking: Booking | undefined = booked.data?.data.booking;
const [first, second] = booking?.tickets ?? [];
must(booking && first && second && first.slices[0]?.seat.label !== second.slices[0]?.seat.label, "book", booked);

const path = { id: booking.id };
const paid = await api.payBooking({ path, body: { ticketIds: [first.id] } });
must(paid.data?.data.booking.tickets.map((t) => t.paymentStatus).join() === "Paid,Unpaid", "pay", paid);
const again = await api.payBooking({ path, body: { ticketIds: [first.id] } });
const e: Problem | undefined = again.error?.errors[0];
must(again.response?.status === 409 && e?.errorCode === "CONFLICT", "pay again", again);
must(e.details?.ordersIds?.join() === first.id && e.details?.reason === "STATE", "pay again", again);

const known = await api.listEvents({ query: { take: 1 } });
const waiting = api.listEvents({ query: { after: known.data?.data.total ?? 0, wait: 20 } });
const canceled = await api.cancelBooking({ path });
must(canceled.data?.data.booking.tickets[0]?.refundAmount === first.price.amount, "cancel", canceled);
const news = await waiting;
must(news.data?.data.events.map((x) => x.type).join() === "ticket.refunded,ticket.canceled", "events", news);

const ordered = await api.orderReport({
  body: { startDate: daysFromNow(0).toISOString(), endDate: daysFromNow(5).toISOString() },
});
const report = ordered.data?.data.report;
must(report?.expiresAt === null, "report", ordered);
let link: string | undefined;
for (let n = 0; n < 100 && !link; n++) {
  const download = await api.getReportDownload({ path: { id: report.id } });
  link = download.data?.data.url;
  if (!link) {
    must(download.error?.errors[0]?.details?.reason === "NOT_READY", "download", download);
    await pause();
  }
}
const file = await api.getReportFile({ path: { token: link?.split("/").pop() ?? "" } });
must(file.data?.includes(first.id), "file", file);
console.log("hey-api: signed in, searched, booked, paid, canceled, waited for events, read a report");
