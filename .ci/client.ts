// A client made from openapi.json alone: its types are generated, and the compiler is strict.
import createClient from "openapi-fetch";
import type { paths } from "./schema.js";

declare const process: { env: Record<string, string>; exitCode: number };
declare const console: { log(...what: unknown[]): void };

const client = createClient<paths>({ baseUrl: process.env.WAYBILL, headers: { "x-api-key": process.env.KEY } });
const must = (ok: boolean, what: string, answer: unknown) => {
  if (!ok) throw new Error(what + ": " + JSON.stringify(answer));
};

const departureDate = new Date(Date.now() + 3 * 24 * 60 * 60 * 1000).toISOString().slice(0, 10);
const search = await client.GET("/v2/offers", {
  params: { query: { departureCitySlug: "kyiv", arrivalCitySlug: "lviv", departureDate, passengers: 2 } },
});
const offer = search.data?.data.offers[0];
if (!offer) throw new Error("search: " + JSON.stringify(search.error));

const booked = await client.POST("/v2/bookings", {
  body: {
    offerId: offer.id,
    currency: "UAH",
    passengers: [
      { firstName: "Lesia", lastName: "Ukrainka", email: "lesia@example.com", phones: [{ phone: "+380441234567" }] },
      { firstName: "Ivan", lastName: "Franko" },
    ],
  },
});
const booking = booked.data?.data.booking;
if (!booking) throw new Error("book: " + JSON.stringify(booked.error));
const [first, second] = booking.tickets;
if (!first || !second) throw new Error("two tickets");
must(first.paymentStatus === "Unpaid" && first.slices[0]?.seat.label !== second.slices[0]?.seat.label, "booked", booking);

const params = { path: { id: booking.id } };
const paid = await client.POST("/v2/bookings/{id}/pay", { params, body: { ticketIds: [first.id] } });
const states = paid.data?.data.booking.tickets.map((t) => t.paymentStatus).join();
must(states === "Paid,Unpaid", "pay", paid);

const again = await client.POST("/v2/bookings/{id}/pay", { params, body: { ticketIds: [first.id] } });
const error = again.error?.errors[0];
must(again.response.status === 409 && error?.errorCode === "CONFLICT" && "details" in error, "pay again", again);

const canceled = await client.POST("/v2/bookings/{id}/cancel", { params });
const ended = canceled.data?.data.booking;
must(ended?.status === "Canceled", "cancel", canceled);
must(ended?.tickets[0]?.refundAmount === first.price.amount && ended?.tickets[1]?.refundAmount === null, "refund", canceled);

const read = await client.GET("/v2/tickets/{id}", { params: { path: { id: first.id } } });
must(read.data?.data.ticket.status === "Refund", "read", read);
console.log("a generated client searched, booked, paid and canceled");
