// orval: a function for each operation, whose answer's type follows from its status.
import * as api from "./orval.gen.js";
import { KEY, TOKEN, dateOf, daysFromNow, must, passengers, pause } from "./browser.js";

const options = { headers: { "x-api-key": KEY } };

const login = await api.login({ idToken: TOKEN });
must(login.status === 200 && login.data.data.session.revokedAt === null, "sign in", login);

const search = await api.searchOffers(
  { departureCitySlug: "kyiv", arrivalCitySlug: "lviv", departureDate: dateOf(daysFromNow(3)), passengers: 2 },
  options,
);
must(search.status === 200, "search", search);
const own = login.data.data.access.companyId;
const offer = search.data.data.offers.find((o) => o.slices[0]?.route.company.id === own);
must(offer, "search", search);

const booked = await api.createBooking({ offerId: offer.id, currency: "UAH", passengers }, options);
must(booked.status === 201, "book", booked);
const booking: api.Booking = booked.data.data.booking;
const [first, second] = booking.tickets;
must(first && second && first.slices[0]?.seat.label !== second.slices[0]?.seat.label, "book", booked);

const paid = await api.payBooking(booking.id, { ticketIds: [first.id] }, options);
must(paid.status === 200, "pay", paid);
must(paid.data.data.booking.tickets.map((t) => t.paymentStatus).join() === "Paid,Unpaid", "pay", paid);
const again = await api.payBooking(booking.id, { ticketIds: [first.id] }, options);
must(again.status === 409, "pay again", again);
const e: api.Error | undefined = again.data.errors[0];
must(e?.errorCode === "CONFLICT" && e.details?.ordersIds?.join() === first.id, "pay again", again);

const known = await api.listEvents({ take: 1 }, options);
must(known.status === 200, "events", known);
const waiting = api.listEvents({ after: known.data.data.total, wait: 20 }, options);
const canceled = await api.cancelBooking(booking.id, undefined, options);
must(canceled.status === 200, "cancel", canceled);
must(canceled.data.data.booking.tickets[0]?.refundAmount === first.price.amount, "cancel", canceled);
const news = await waiting;
must(news.status === 200, "events", news);
must(news.data.data.events.map((x) => x.type).join() === "ticket.refunded,ticket.canceled", "events", news);

const range = { startDate: daysFromNow(0).toISOString(), endDate: daysFromNow(5).toISOString() };
const ordered = await api.orderReport(range);
must(ordered.status === 202 && ordered.data.data.report.expiresAt === null, "report", ordered);
let link: string | undefined;
for (let n = 0; n < 100 && !link; n++) {
  const download = await api.getReportDownload(ordered.data.data.report.id);
  if (download.status === 200) {
    link = download.data.data.url;
  } else {
    must(download.status === 409 && download.data.errors[0]?.details?.reason === "NOT_READY", "download", download);
    await pause();
  }
}
const file = await fetch(api.getGetReportFileUrl(link?.split("/").pop() ?? "")); // its own function reads JSON only
must((await file.text()).includes(first.id), "file", file);
console.log("orval: signed in, searched, booked, paid, canceled, waited for events, read a report");
