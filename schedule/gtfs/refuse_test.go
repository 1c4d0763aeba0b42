package gtfs_test

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"waybill/schedule/gtfs"
)

// refused wants an error that is gtfs.ErrInvalid and one clear line.
func refused(t *testing.T, err error, says string) {
	t.Helper()
	switch {
	case !errors.Is(err, gtfs.ErrInvalid):
		t.Errorf("the error is %v, want gtfs.ErrInvalid", err)
	case strings.ContainsAny(err.Error(), "\n\r\x00") || len(err.Error()) > 300:
		t.Errorf("the error is no single line: %q", err)
	case !strings.Contains(err.Error(), says):
		t.Errorf("the error %q does not say %q", err, says)
	}
}

func utf16Text(s string, little, mark bool) string {
	var b []byte
	if mark {
		s = "\ufeff" + s
	}
	for _, u := range utf16.Encode([]rune(s)) {
		if little {
			b = append(b, byte(u), byte(u>>8))
		} else {
			b = append(b, byte(u>>8), byte(u))
		}
	}
	return string(b)
}

// TestNoFeed refuses what is no feed at all, and says in one line why.
func TestNoFeed(t *testing.T) {
	base := plain()
	pointer := "version https://git-lfs.github.com/spec/v1\noid sha256:" + strings.Repeat("0",
		64) + "\nsize 12345\n"
	cases := map[string]struct {
		feed files
		says string
	}{
		"nothing":                        {files{}, "agency.txt"},
		"another directory":              {files{"README.md": "# Hello\n", "src/main.go": "package main\n"}, "agency.txt"},
		"two levels down":                {files{}, "the directory x/y has stop_times.txt; import that by itself"},
		"an archive one level down":      {files{"x/gtfs.ZIP": "PK"}, "it contains x/gtfs.ZIP; unpack that"},
		"UTF-16, little end first":       {base.with("stops.txt", utf16Text(base["stops.txt"], true, true)), "UTF-16"},
		"UTF-16, big end first":          {base.with("stops.txt", utf16Text(base["stops.txt"], false, true)), "UTF-16"},
		"UTF-16 without a mark":          {base.with("stops.txt", utf16Text(base["stops.txt"], true, false)), "stops.txt"},
		"UTF-16 without an ASCII letter": {base.with("stops.txt", utf16Text("Київ", true, true)), "UTF-16"},
		"a NUL byte":                     {base.with("routes.txt", base["routes.txt"]+"x\x00y\n"), "routes.txt has NUL"},
		"a NUL byte far away": {base.with("stop_times.txt",
			base["stop_times.txt"]+strings.Repeat("t,,,b,\n", 50_000)+"\x00"), "stop_times.txt has NUL"},
		"a NUL byte in an optional file": {base.with("transfers.txt", "\x00"), "transfers.txt has NUL"},
		"semicolons": {base.with("stops.txt", strings.ReplaceAll(base["stops.txt"], ",", ";")),
			"stops.txt has semicolons or tabs between its cells"},
		"tabs, optional":              {base.with("transfers.txt", "from_stop_id\tto_stop_id\n"), "transfers.txt has semi"},
		"a Git LFS pointer":           {base.with("agency.txt", pointer), "agency.txt is a Git LFS pointer"},
		"a Git LFS pointer, optional": {base.with("fare_rules.txt", pointer), "fare_rules.txt is a Git LFS pointer"},
		"an empty agency.txt":         {base.with("agency.txt", ""), "agency.txt"},
		"no usable agency": {base.with("agency.txt",
			"agency_id,agency_name,agency_url,agency_timezone\nag,Agency,,Mars/Olympus\n"), "agency.txt"},
	}
	for name, text := range base {
		cases["two levels down"].feed["x/y/"+name] = text
	}
	for _, name := range []string{"agency.txt", "stops.txt", "routes.txt", "trips.txt", "stop_times.txt"} {
		missing := base.with("sub/"+name, "")
		delete(missing, name)
		cases["no "+name] = struct {
			feed files
			says string
		}{missing, name}
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			tables, _, err := gtfs.Import(c.feed.fs(), gtfs.Options{Skip: func(string, int, string) {}})
			if tables != nil {
				t.Error("there is a timetable as well")
			}
			refused(t, err, c.says)
		})
	}
}

// TestDirectoryForFile refuses a directory that has the name of a file.
func TestDirectoryForFile(t *testing.T) {
	f := plain().with("stops.txt/x", "")
	delete(f, "stops.txt")
	_, _, err := gtfs.Import(f.fs(), gtfs.Options{Skip: func(string, int, string) {}})
	refused(t, err, "stops.txt")
	if _, _, err := gtfs.Import(plain().with("transfers.txt/x", "").fs(),
		gtfs.Options{Skip: func(string, int, string) {}}); err == nil {
		t.Error("a directory called transfers.txt is passed over in silence")
	}
}

// archive makes a zip of entries that only say how large they would unpack.
func archive(t *testing.T, entries ...*zip.FileHeader) *zip.Reader {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range entries {
		if _, err := w.CreateRaw(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		t.Fatal(err)
	}
	return z
}

// TestArchives refuses archives with an entry that leaves them or that unpack beyond 4 GiB.
func TestArchives(t *testing.T) {
	const gib = 1 << 30
	file := func(name string, size uint64) *zip.FileHeader {
		return &zip.FileHeader{Name: name, Method: zip.Store, UncompressedSize64: size}
	}
	for _, name := range []string{"../agency.txt", "feed/../../agency.txt", "/agency.txt", "/", "..", "../",
		`..\agency.txt`, "feed/../.."} {
		t.Run(name, func(t *testing.T) {
			refused(t, gtfs.CheckZip(archive(t, file("stops.txt", 0), file(name, 0))), "leaves the archive")
		})
	}
	for name, entries := range map[string][]*zip.FileHeader{
		"one":      {file("stop_times.txt", 4*gib+1)},
		"two":      {file("stop_times.txt", 3*gib), file("shapes.txt", gib+1)},
		"overflow": {file("stop_times.txt", gib), file("shapes.txt", math.MaxUint64-gib+2)},
		"largest":  {file("stop_times.txt", math.MaxUint64)},
	} {
		t.Run(name, func(t *testing.T) { refused(t, gtfs.CheckZip(archive(t, entries...)), "4 GiB") })
	}
	odd := func(name string, flags, method uint16) *zip.FileHeader {
		return &zip.FileHeader{Name: name, Flags: flags, Method: method}
	}
	refused(t, gtfs.CheckZip(archive(t, odd("stops.txt", 1, zip.Deflate))), `"stops.txt" is encrypted`)
	refused(t, gtfs.CheckZip(archive(t, odd("stops.txt", 0, 12))), "by the rare method 12")
	for name, entries := range map[string][]*zip.FileHeader{
		"4 GiB":     {file("stop_times.txt", 3*gib), file("shapes.txt", gib)},
		"directory": {file("feed/", 0), file("feed/stops.txt", 9)},
		"dots":      {file("feed..txt", 1), file("..x/stops.txt", 1), file("a..b/c", 1)},
	} {
		if err := gtfs.CheckZip(archive(t, entries...)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLinkInAnArchive refuses an entry that is a symbolic link, required or not: what it names lies outside.
func TestLinkInAnArchive(t *testing.T) {
	for _, linked := range []string{"stops.txt", "transfers.txt"} {
		var packed bytes.Buffer
		w := zip.NewWriter(&packed)
		for name, text := range plain().with("transfers.txt", "") {
			header := &zip.FileHeader{Name: name, Method: zip.Store}
			if name == linked {
				header.SetMode(fs.ModeSymlink | 0o777)
				text = "/etc/hostname"
			}
			e, err := w.CreateHeader(header)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := e.Write([]byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		z, err := zip.NewReader(bytes.NewReader(packed.Bytes()), int64(packed.Len()))
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = gtfs.Import(z, gtfs.Options{Skip: func(string, int, string) {}})
		refused(t, err, linked+" is not a regular file")
	}
}

// TestLyingArchive fails where an entry unpacks to more than it says, rather than take part of it.
func TestLyingArchive(t *testing.T) {
	f := plain()
	stops := f["stops.txt"]
	delete(f, "stops.txt")
	var packed bytes.Buffer
	w := zip.NewWriter(&packed)
	for name, text := range f {
		e, err := w.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	half := uint64(strings.Index(stops, "b,"))
	e, err := w.CreateRaw(&zip.FileHeader{
		Name:               "stops.txt",
		Method:             zip.Deflate,
		CompressedSize64:   uint64(len(deflated(t, stops))),
		UncompressedSize64: half,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Write(deflated(t, stops)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(packed.Bytes()), int64(packed.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if tables, _, err := gtfs.Import(z, gtfs.Options{Skip: func(string, int, string) {}}); err == nil ||
		tables != nil {
		t.Errorf("an entry that says %d bytes and unpacks to %d is taken: %v", half, len(stops), err)
	}
}

func deflated(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestSkipped reports each row that cannot be used once, by file, line and reason.
func TestSkipped(t *testing.T) {
	base := network()
	lines := map[string]int{}
	bad := files{}
	for _, row := range []string{
		"agency.txt:xx,Bad zone,https://x.example,Nowhere/City,,,", "agency.txt:dn,Twice,https://x.example,Europe/Kyiv,,,",
		"areas.txt:bad,Bad zone,,UA,Nowhere/City", "areas.txt:kyiv,Twice,,,", "areas.txt:,No id,,,",
		"stop_areas.txt:gone,lv",
		"stops.txt:,No id,50,30,,,,,", "stops.txt:kc,Twice,50,30,,,,,", "stops.txt:s1,Bad,91,30,,,,,",
		"stops.txt:s2,Bad,50,x,,,,,", "stops.txt:s3,Bad,NaN,30,,,,,",
		"stops.txt:s4,Bad,50,,,,,,", "stops.txt:s5,None,,,,,,,",
		"stops.txt:s6,Bad zone,50,30,,,,,Nowhere/City", "stops.txt:s7,Local,50,30,,,,,Local", "stops.txt:s8,Orphan,50,30,,,s8,,",
		"stops.txt:s9,Not UTF-8: \xff,50,30,,,,,", "stops.txt:s10," + strings.Repeat("x", 1<<16+1) + ",50,30,,,,,",
		"routes.txt:,dn,1,,,3,,", "routes.txt:r1,dn,1,Twice,,3,,", "routes.txt:rx,gone,1,,,3,,", "routes.txt:ry,,1,,,3,,",
		"waybill_buses.txt:,dn,50,,,,,,", "waybill_buses.txt:b1,dn,50,,,,,,",
		"waybill_buses.txt:b3,gone,50,,,,,,", "waybill_buses.txt:b4,dn,0,,,,,,", "waybill_buses.txt:b5,dn,1001,,,,,,",
		"waybill_buses.txt:b6,dn,many,,,,,,", "waybill_buses.txt:b7,dn,50,,,,,f1,", "waybill_buses.txt:b8,dn,-1,,,,,,",
		"calendar.txt:week,1,1,1,1,1,1,1,20260230,20261231",
		"calendar.txt:week,1,1,1,1,1,1,1,2026-01-01,20261231", "calendar.txt:week,1,1,1,1,1,1,1,20260101,",
		"calendar_dates.txt:week,20260101,3", "calendar_dates.txt:week,20261301,1",
		"calendar_dates.txt:week,,1", "calendar_dates.txt:week,20260101,",
		"trips.txt:r1,week,,,,,", "trips.txt:r1,week,t1,,,,", "trips.txt:gone,week,tx,,,,",
		"trips.txt:r1,gone,ty,,,,", "trips.txt:r1,week,tz,,,gone,", "trips.txt:r1,week,no-times,,,,",
		"stop_times.txt:gone,08:00:00,08:00:00,lv,9,,", "stop_times.txt:t1,08:00:00,08:00:00,gone,9,,",
		"stop_times.txt:t1,08:00:00,08:00:00,lv,-1,,", "stop_times.txt:t1,08:00:00,08:00:00,lv,x,,",
		"stop_times.txt:t1,08:00:00,08:00:00,lv,4294967297,,", "stop_times.txt:t1,8:0:00,08:00:00,lv,9,,",
		"stop_times.txt:t1,08:00:00,08:60:00,lv,9,,", "stop_times.txt:t1,-8:00:00,,lv,9,,",
		"stop_times.txt:t1,1000:00:00,,lv,9,,", "stop_times.txt:t1,08:0,,lv,9,,",
		"stop_times.txt:t1,noon,,lv,9,,", "stop_times.txt:t1,37:30:00,37:30:00,lv,3,,",
		"frequencies.txt:gone,06:00:00,09:00:00,600", "frequencies.txt:t3,06:00:00,6,600",
		"frequencies.txt:t3,06:00:00,09:00:00,0", "frequencies.txt:t3,06:00:00,09:00:00,-60",
		"frequencies.txt:t3,06:00:00,06:00:00,60", "frequencies.txt:t3,06:00:00,05:00:00,60", "frequencies.txt:t3,0:00:00,999:00:00,1",
		"fare_attributes.txt:,1,EUR,0,0,", "fare_attributes.txt:f1,1,EUR,0,0,",
		"fare_attributes.txt:g1,1.005,EUR,0,0,", "fare_attributes.txt:g2,-1,EUR,0,0,", "fare_attributes.txt:g3,,EUR,0,0,",
		"fare_attributes.txt:g4,1,EURO,0,0,", "fare_attributes.txt:g5,1,€,0,0,",
		"fare_attributes.txt:g6,1,EUR,0,0,gone", "fare_attributes.txt:g7,1e3,EUR,0,0,",
		"fare_attributes.txt:g8,99999999999999999999,EUR,0,0,",
		"fare_rules.txt:gone,r1,,", "fare_rules.txt:f1,gone,,",
		"waybill_refund_rules.txt:y1,,,1,50", "waybill_refund_rules.txt:y2,gone,,1,50",
		"waybill_refund_rules.txt:y3,,gone,1,50", "waybill_refund_rules.txt:y4,,dn,-1,50", "waybill_refund_rules.txt:y5,,dn,1.5,50",
		"waybill_refund_rules.txt:y6,,dn,1,100.01", "waybill_refund_rules.txt:y7,,dn,99999,1", "waybill_refund_rules.txt:y8,,dn,1,",
		"waybill_discounts.txt:z1,,N,,Percent,1,20260101,20260102",
		"waybill_discounts.txt:z2,gone,N,,Percent,1,20260101,20260102", "waybill_discounts.txt:z3,r1,N,,Amount,1,20260101,20260102",
		"waybill_discounts.txt:z4,r1,N,,Percent,101,20260101,20260102",
		"waybill_discounts.txt:z5,r1,N,,Percent,1,20260101,", "waybill_discounts.txt:z6,r1,N,,Percent,,20260101,20260102",
		"transfers.txt:gone,lv,2,60", "transfers.txt:lv,gone,2,60",
	} {
		file, text, _ := strings.Cut(row, ":")
		bad[file] += text + "\r\n\r\n" // a blank line between rows counts as one, too
		lines[file]++
	}
	var want []string
	f := base
	for file, text := range bad {
		// The bad rows stand between the header and the others, except where they must be the later of two.
		f = f.with(file, f[file]+text)
		above := strings.Count(base[file], "\n")
		for i := range lines[file] {
			want = append(want, fmt.Sprintf("%s:%d: ", file, above+1+2*i))
		}
	}
	x := load(t, f.fs(), gtfs.Options{})
	wantSkipped(t, x.skipped, want...)
	sameLines(t, "the rest", x.describe(), clean(t, base).describe())
}

// TestUnclosedQuote loses a row whose quote is not closed, and no other.
func TestUnclosedQuote(t *testing.T) {
	for _, row := range []string{`z,"Zulu,51,30`, `z,5" Pipe,"51,30`, `"z,Zulu,"51",30`, `z,"Zulu"" 51,30`,
		`z,Zulu,51,30,"`, "z,\u00a0\"Zulu,51,30", "z,\r\"Zulu,51,30"} {
		f := plain().edit(t, "stops.txt", "a,Alfa", row+"\na,Alfa")
		x := load(t, f.fs(), gtfs.Options{})
		wantSkipped(t, x.skipped, "stops.txt:2: ")
		sameLines(t, strconv.Quote(row), x.describe(), clean(t, plain()).describe())
	}
	// Quotes inside a cell are a part of it, odd as they are.
	for row, want := range map[string]string{
		`a,5"" Pipe,50,30`:       `5"" Pipe`,
		`a,"The ""Alfa""",50,30`: `The "Alfa"`,
		`a,Al "fa" Alfa,50,30`:   `Al "fa" Alfa`,
	} {
		f := plain().edit(t, "stops.txt", "a,Alfa,50,30", row)
		if got := clean(t, f).cityOf(t, "a").Name; got != want {
			t.Errorf("%s: the name is %q, want %q", row, got, want)
		}
	}
}

// TestLineAfterQuotes counts the lines of a quoted cell as well.
func TestLineAfterQuotes(t *testing.T) {
	f := plain().with("stops.txt", "stop_id,stop_name,stop_lat,stop_lon\n"+
		"a,Alfa,50,30\n"+
		"x,\"One\n"+
		"Two\n"+
		"Three\",50,30\n"+
		"b,Bravo,50,31\n"+
		"c,Charlie,50,32\n"+
		"bad,Bad,500,30\n")
	x := load(t, f.fs(), gtfs.Options{})
	for _, want := range []string{"stops.txt:3: ", "stops.txt:8: "} {
		if !slices.ContainsFunc(x.skipped, func(s string) bool { return strings.HasPrefix(s, want) }) {
			t.Errorf("not skipped: %s", want)
		}
	}
	if len(x.departures(t, "alfa", "charlie", "2026-06-01", 1)) != 1 {
		t.Errorf("the rows around are lost: %q", x.skipped)
	}
}

// TestLinesStayApart puts every short line there is of what quotes, commas and
// blanks can be mixed up in between good rows: none of them is lost.
func TestLinesStayApart(t *testing.T) {
	lines := []string{""}
	for i := 0; len(lines[i]) < 6; i++ {
		for _, c := range []string{`"`, ",", "a", " ", "\r"} {
			lines = append(lines, lines[i]+c)
		}
	}
	for _, pad := range []string{"\u00a0", "\t", "\v", "\ufeff"} {
		for _, l := range []string{`%"`, `a,%"a`, `"a"%`, `"a"%,"`, `a%"a,"`, `"%"a"%"`} {
			lines = append(lines, strings.ReplaceAll(l, "%", pad))
		}
	}
	f := plain().plus("routes.txt", rows(len(lines), func(i int) string {
		return fmt.Sprintf("%s\ng%d,ag,,N%d,3", lines[i], i, i)
	}))
	tables, _, err := gtfs.Import(f.fs(), gtfs.Options{Skip: func(string, int, string) {}})
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for _, r := range tables.Routes {
		there[r.ID] = true
	}
	for i, l := range lines {
		if !there[fmt.Sprint("g", i)] {
			t.Errorf("the row after the line %q is lost", l)
		}
	}
}

// TestNothingInSilence reports also rows that name what only a later file could have, or what is out of
// reach.
func TestNothingInSilence(t *testing.T) {
	f := plain().with("areas.txt", "area_id,area_name\nx,Xray\n").with("stop_areas.txt",
		"area_id,stop_id\nx,a\nx,gone\n").
		with("calendar_dates.txt", "service_id,date,exception_type\n"+
			"daily,20270101,1\n"+
			"daily,22000101,1\n"+
			"daily,19691231,1\n").
		plus("calendar.txt", "late,1,1,1,1,1,1,1,22000101,22001231")
	wantSkipped(t, load(t, f.fs(), gtfs.Options{}).skipped, "stop_areas.txt:3: ", "calendar_dates.txt:3: ",
		"calendar_dates.txt:4: ", "calendar.txt:3: ")
	// A column that the header lacks is named as that.
	f = plain().edit(t, "calendar.txt", "end_date", "last_date")
	want := `calendar.txt:2: end_date "" is missing: the header has no such column`
	if got := load(t, f.fs(), gtfs.Options{}).skipped; got[0] != want {
		t.Errorf("%q, want %q", got[0], want)
	}
}
