-- The tables of waybill export, for PostgreSQL and SQLite. Each table is beside this file as TABLE.csv: RFC 4180, UTF-8,
-- lines end in a newline, the first line has the names of the columns, which are these.
--
-- timestamptz  an instant in UTC, 2026-11-20T08:30:00.000Z. All stands as at the time of the last row of events.
-- date         2026-11-20
-- numeric      decimal numbers with two digits: money in the row's currency, or per cent
-- boolean      true or false
-- Nothing between two commas is null: PostgreSQL reads it so; SQLite reads the empty text, which the last lines below
-- make null. There are no empty texts. Cells are for a database: what a spreadsheet would run as a formula is as it is.
--
-- Not here: the timetable in force, which is the feed that was imported; tokens, passwords and their hashes. What is
-- erased in the journal later is not erased here.
-- The end of this file says how to load.

create table partners (
    partner_id text primary key,
    name text not null,
    companies text, -- slugs of the only companies it may sell, with commas; null: all
    created_at timestamptz not null,
    last_legacy_at timestamptz -- the first legacy call of the last day with one
);

create table api_keys (
    key_hash text primary key, -- SHA-256 of the key, in hex
    partner_id text not null references partners,
    created_at timestamptz not null,
    revoked_at timestamptz
);

create table users (
    user_id text primary key,
    email text, -- null, as the names, once it was erased
    first_name text,
    last_name text
);

-- What identity providers call a user.
create table identities (
    user_id text not null references users,
    issuer text not null, -- "?" where it is to be the first provider that vouches for the subject
    subject_hash text not null, -- SHA-256 of the subject, in hex
    primary key (issuer, subject_hash)
);

create table accesses (
    user_id text not null references users,
    company_id text not null,
    company_name text, -- the company's, as when the access was given, as slug and tier
    company_slug text,
    company_tier text,
    role text not null, -- ADMIN or VIEWER
    primary key (user_id, company_id)
);

-- Sessions that have not been ended.
create table sessions (
    session_id text primary key,
    user_id text not null references users,
    company_id text not null,
    refreshed_at timestamptz not null, -- or started
    access_until timestamptz not null, -- the end of its access token
    ends_at timestamptz not null
);

-- A trip in a form it was sold in, whatever later timetables say.
create table forms (
    form_id text primary key, -- from its content
    trip_id text not null,
    company_id text not null,
    company_name text,
    source text not null, -- Service, or an external operator
    route_id text not null,
    route_name text,
    bus_id text,
    seats integer not null,
    details text not null -- JSON: all that tickets on it show
);

create table form_stops (
    form_id text not null references forms,
    position integer not null, -- from 1
    stop_id text not null,
    place text,
    platform text,
    latitude double precision not null,
    longitude double precision not null,
    city_id text not null,
    city_name text,
    country text, -- ISO 3166-1 alpha-2
    time_zone text not null, -- IANA name
    primary key (form_id, position)
);

-- The percentage of the price that comes back when a ticket is cancelled at least so many hours before departure.
create table refund_rules (
    form_id text not null references forms,
    position integer not null, -- from 1; the first that applies counts
    rule_id text not null,
    hours integer not null,
    percent numeric(5,2) not null,
    primary key (form_id, position)
);

create table discounts (
    form_id text not null references forms,
    position integer not null, -- from 1
    discount_id text not null,
    name text,
    description text,
    percent numeric(5,2) not null,
    first_day date not null, -- of departure, where one boards
    last_day date not null,
    primary key (form_id, position)
);

-- A trip on a service day, in the form it was sold in.
create table runs (
    run_id text primary key,
    form_id text not null references forms,
    service_date date not null
);

create table run_stops (
    run_id text not null references runs,
    position integer not null, -- as in form_stops
    arrival_at timestamptz not null,
    departure_at timestamptz not null,
    utc_offset integer not null, -- seconds that the clock there is ahead of UTC
    primary key (run_id, position)
);

create table bookings (
    booking_id text primary key,
    partner_id text not null references partners,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    departure_at timestamptz not null,
    status text not null -- Upcoming, Boarding, InTransit, Completed, Canceled
);

create table tickets (
    ticket_id text primary key,
    booking_id text not null references bookings, -- that it is in now
    created_at timestamptz not null,
    departure_at timestamptz not null,
    status text not null, -- Processing, Confirmed, NotConfirmed, Prepaid, Uncompleted, Canceled, Refund
    payment_status text not null, -- Unpaid, Booked, Paid
    asked text, -- pay or book: what the provider was asked to confirm and has not answered
    price numeric(20,2) not null,
    currency text not null, -- three capital letters
    refund_amount numeric(20,2), -- of a ticket whose status is Refund
    first_name text, -- the passenger's; null once erased
    last_name text,
    email text
);

create table ticket_phones (
    ticket_id text not null references tickets,
    position integer not null, -- from 1
    phone text not null,
    primary key (ticket_id, position)
);

-- A ticket's ride: one, or two with a change.
create table ticket_legs (
    ticket_id text not null references tickets,
    leg integer not null, -- 1 or 2
    run_id text not null,
    boarding integer not null, -- position among the run's stops
    alighting integer not null,
    seat integer not null, -- its label
    amount numeric(20,2) not null, -- its share of the price
    discount_id text, -- of the discounts of the run's form; already taken off
    discount numeric(5,2), -- per cent
    primary key (ticket_id, leg),
    foreign key (run_id, boarding) references run_stops,
    foreign key (run_id, alighting) references run_stops
);

create table reports (
    report_id text primary key,
    company_id text not null,
    user_id text not null, -- who may have been removed since
    order_by text not null, -- CreatedAt or DepartureDate
    start_date timestamptz not null, -- inclusive, as end_date
    end_date timestamptz not null,
    created_at timestamptz not null,
    completed_at timestamptz,
    downloaded_at timestamptz, -- for the first time
    sha256 text -- of the file, in hex
);

-- What users have set of FMS objects, whatever timetables say.
create table geolocation (
    fms_object_id text primary key,
    is_geolocation boolean not null
);

-- What carriers have changed of runs, whatever timetables say.
create table run_changes (
    trip text not null,
    service_date date not null,
    cancelled boolean not null,
    moved_minutes integer not null, -- later than the timetable says
    tickets integer not null, -- that were cancelled with it
    reason text not null, -- of the last change
    primary key (trip, service_date)
);

-- The journal: the whole history, a row for each line.
create table events (
    seq bigint primary key,
    time timestamptz not null,
    type text not null,
    hash text not null, -- the line's, in hex
    data text not null, -- JSON; a session's has no token's hash
    personal text -- JSON: names, e-mail, phones, or when they were erased; a user's has no password's hash
);

-- The money that moved: a row for each carrier's part of each sale and refund. Its columns are those of waybill
-- statement, which has its amounts with two decimals.
create table movements (
    kind text not null, -- sale or refund
    seq bigint not null references events, -- the line that says that a ticket was paid, or that refunds
    time timestamptz not null, -- of that line
    currency text not null, -- three capital letters
    amount bigint not null, -- in minor units, hundredths; of a refund below zero
    ticket text not null references tickets,
    booking text not null, -- that the ticket was in then
    partner text not null, -- its name
    company text not null, -- the carrier's slug, of the trip as it was sold
    rule text not null, -- sale, grace, rule ID hours N percent P, or run cancelled
    primary key (seq, ticket, company, rule)
);

-- To load into PostgreSQL, here:
--
--   psql -1 -v ON_ERROR_STOP=1 -f schema.sql DATABASE
--   sed -n 's/^-- psql: //p' schema.sql | psql -1 -v ON_ERROR_STOP=1 DATABASE
--
-- psql: \copy partners from 'partners.csv' with (format csv, header, encoding 'UTF8')
-- psql: \copy api_keys from 'api_keys.csv' with (format csv, header, encoding 'UTF8')
-- psql: \copy users from 'users.csv' with (format csv, header, encoding 'UTF8')
-- psql: \copy identities from 'identities.csv' with (format csv, header, encoding 'UTF8')
-- psql: \copy accesses from 'accesses.csv' with (format csv, header, encoding 'UTF8')
-- psql: \copy sessions from 'sessions.csv' with (format csv, header, encoding 'UTF8')
-- psql: \copy forms from 'forms.csv' with (format csv, header, encoding 'UTF8')
-- psql: \copy form_stops from 'form_stops.csv' with (format csv, header, encoding 'UTF8')
-- psql: \copy refund_rules from 'refund_rules.csv' with (format csv, header, encoding 'UTF8')
-- psql: \copy discounts from 'discounts.csv' with (format csv, header, encoding 'UTF8')
-- psql: \copy runs from 'runs.csv' with (format csv, header, encoding 'UTF8')
-- psql: \copy run_stops from 'run_stops.csv' with (format csv, header, encoding 'UTF8')
-- psql: \copy bookings from 'bookings.csv' with (format csv, header, encoding 'UTF8')
-- psql: \copy tickets from 'tickets.csv' with (format csv, header, encoding 'UTF8')
-- psql: \copy ticket_phones from 'ticket_phones.csv' with (format csv, header, encoding 'UTF8')
-- psql: \copy ticket_legs from 'ticket_legs.csv' with (format csv, header, encoding 'UTF8')
-- psql: \copy reports from 'reports.csv' with (format csv, header, encoding 'UTF8')
-- psql: \copy geolocation from 'geolocation.csv' with (format csv, header, encoding 'UTF8')
-- psql: \copy run_changes from 'run_changes.csv' with (format csv, header, encoding 'UTF8')
-- psql: \copy events from 'events.csv' with (format csv, header, encoding 'UTF8')
-- psql: \copy movements from 'movements.csv' with (format csv, header, encoding 'UTF8')
--
-- To load into SQLite (3.32 or later), here:
--
--   sqlite3 -bail FILE < schema.sql
--   sed -n 's/^-- sqlite: //p' schema.sql | sqlite3 -bail FILE
--
-- sqlite: .import --csv --skip 1 partners.csv partners
-- sqlite: .import --csv --skip 1 api_keys.csv api_keys
-- sqlite: .import --csv --skip 1 users.csv users
-- sqlite: .import --csv --skip 1 identities.csv identities
-- sqlite: .import --csv --skip 1 accesses.csv accesses
-- sqlite: .import --csv --skip 1 sessions.csv sessions
-- sqlite: .import --csv --skip 1 forms.csv forms
-- sqlite: .import --csv --skip 1 form_stops.csv form_stops
-- sqlite: .import --csv --skip 1 refund_rules.csv refund_rules
-- sqlite: .import --csv --skip 1 discounts.csv discounts
-- sqlite: .import --csv --skip 1 runs.csv runs
-- sqlite: .import --csv --skip 1 run_stops.csv run_stops
-- sqlite: .import --csv --skip 1 bookings.csv bookings
-- sqlite: .import --csv --skip 1 tickets.csv tickets
-- sqlite: .import --csv --skip 1 ticket_phones.csv ticket_phones
-- sqlite: .import --csv --skip 1 ticket_legs.csv ticket_legs
-- sqlite: .import --csv --skip 1 reports.csv reports
-- sqlite: .import --csv --skip 1 geolocation.csv geolocation
-- sqlite: .import --csv --skip 1 run_changes.csv run_changes
-- sqlite: .import --csv --skip 1 events.csv events
-- sqlite: .import --csv --skip 1 movements.csv movements
-- sqlite: update partners set companies = nullif(companies, ''), last_legacy_at = nullif(last_legacy_at, '');
-- sqlite: update api_keys set revoked_at = nullif(revoked_at, '');
-- sqlite: update users set email = nullif(email, ''), first_name = nullif(first_name, ''), last_name = nullif(last_name, '');
-- sqlite: update accesses set company_name = nullif(company_name, ''), company_slug = nullif(company_slug, ''), company_tier = nullif(company_tier, '');
-- sqlite: update forms set company_name = nullif(company_name, ''), route_name = nullif(route_name, ''), bus_id = nullif(bus_id, '');
-- sqlite: update form_stops set place = nullif(place, ''), platform = nullif(platform, ''), city_name = nullif(city_name, ''), country = nullif(country, '');
-- sqlite: update discounts set name = nullif(name, ''), description = nullif(description, '');
-- sqlite: update tickets set asked = nullif(asked, ''), refund_amount = nullif(refund_amount, ''), first_name = nullif(first_name, ''), last_name = nullif(last_name, ''), email = nullif(email, '');
-- sqlite: update ticket_legs set discount_id = nullif(discount_id, ''), discount = nullif(discount, '');
-- sqlite: update reports set completed_at = nullif(completed_at, ''), downloaded_at = nullif(downloaded_at, ''), sha256 = nullif(sha256, '');
-- sqlite: update geolocation set is_geolocation = is_geolocation = 'true';
-- sqlite: update run_changes set cancelled = cancelled = 'true';
-- sqlite: update events set personal = nullif(personal, '');
