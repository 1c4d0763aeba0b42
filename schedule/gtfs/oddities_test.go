package gtfs_test

import (
	"archive/zip"
	"bytes"
	"encoding/csv"
	"io/fs"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"waybill/schedule/gtfs"
)

// network is a feed that uses every file that is read, without anything odd in
// how it is written. TestWriting writes it in other ways.
func network() files {
	return files{
		"agency.txt": "agency_id,agency_name,agency_url,agency_timezone,agency_email,waybill_slug,waybill_socials\n" +
			"dn,Dnipro Lines,https://dn.example,Europe/Kyiv,d@dn.example,dnipro,https://a.example https://b.example\n" +
			"wi,\"Wisła, Coach\",https://wi.example,Europe/Warsaw,,,\n",
		"areas.txt": "area_id,area_name,waybill_slug,waybill_country,waybill_timezone\n" +
			"kyiv,Kyiv,,UA,Europe/Kyiv\n" +
			"waw,Warszawa,warsaw,PL,Europe/Warsaw\n",
		"stop_areas.txt": "area_id,stop_id\nkyiv,kc\nwaw,w1\n",
		"stops.txt": "stop_id,stop_name,stop_lat,stop_lon,zone_id,location_type,parent_station,platform_code,stop_timezone\n" +
			"kc,Kyiv Central,50.40,30.52,,1,,,Europe/Kyiv\n" +
			"k1,Kyiv Central,50.41,30.53,zk,0,kc,1,\n" +
			"lv,\"Lviv, \"\"Stryiskyi\"\"\",49.79,24.01,zl,0,,,Europe/Kyiv\n" +
			"w1,Warszawa Zachodnia,52.22,20.96,zw,0,,7,\n",
		"routes.txt": "route_id,agency_id,route_short_name,route_long_name,route_desc,route_type,waybill_slug,waybill_services\n" +
			"r1,dn,11,,\"By Lviv, at night\",202,,wifi:Wi-Fi;wc:Toilet\nr2,wi,12,Kyiv – Warszawa,,201,kw,\n",
		"waybill_buses.txt": "bus_id,agency_id,seats,registration_number,brand,model,image_urls,fms_object_id,is_geolocation\n" +
			"b1,dn,57,AA 1,Setra,S 1,https://i.example/1 https://i.example/2,f1,1\n",
		"calendar.txt": "service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date\n" +
			"week,1,1,1,1,1,0,0,20260101,20261231\n",
		"calendar_dates.txt": "service_id,date,exception_type\n" +
			"week,20260501,2\n" +
			"week,20260502,1\n" +
			"only,20260503,1\n",
		"trips.txt": "route_id,service_id,trip_id,trip_headsign,trip_short_name,waybill_bus_id,waybill_phones\n" +
			"r1,week,t1,Lviv,11/1,b1,+380 +381\nr2,only,t2,Warszawa,,,\nr2,week,t3,,,,\n",
		"stop_times.txt": "trip_id,arrival_time,departure_time,stop_id,stop_sequence,pickup_type,drop_off_type\n" +
			"t1,21:00:00,21:00:00,k1,1,0,1\nt1,29:30:00,29:40:00,lv,2,0,0\nt1,37:00:00,37:00:00,w1,3,1,0\n" +
			"t2,07:00:00,07:00:00,w1,1,,\nt2,,,lv,2,,\nt2,15:00:00,15:00:00,k1,3,,\n" +
			"t3,06:00:00,06:00:00,w1,1,,\nt3,12:00:00,12:00:00,lv,2,,\n",
		"frequencies.txt": "trip_id,start_time,end_time,headway_secs\nt3,06:00:00,09:00:00,3600\n",
		"fare_attributes.txt": "fare_id,price,currency_type,payment_method,transfers,agency_id\n" +
			"f1,100.50,UAH,0,0,dn\n" +
			"f2,9,EUR,0,0,\n",
		"fare_rules.txt":           "fare_id,route_id,origin_id,destination_id\nf1,r1,zk,zl\nf1,r1,zk,zw\n",
		"waybill_refund_rules.txt": "rule_id,route_id,agency_id,hours,amount\nx1,,dn,24,90\nx2,r2,,2,50.5\n",
		"waybill_discounts.txt": "discount_id,route_id,name,description,rule,amount,start_date,end_date\n" +
			"d1,r1,Spring,\"Cheap, in spring\",Percent,12.5,20260301,20260531\n",
		"transfers.txt": "from_stop_id,to_stop_id,transfer_type,min_transfer_time\n" +
			"lv,lv,2,2700\n" +
			"kc,lv,3,\n",
		"translations.txt": "table_name,field_name,language,translation,record_id,field_value\n" +
			"areas,area_name,uk,Київ,kyiv,\n" +
			"stops,stop_name,cs,Lvov,,\"Lviv, \"\"Stryiskyi\"\"\"\n",
		"feed_info.txt": "feed_publisher_name,feed_publisher_url,feed_lang\nP,https://p.example,en\n",
	}
}

// rewrite reads each file as CSV and writes each row in another way.
func rewrite(t testing.TB, f files, write func(row []string) string) files {
	return f.each(func(text string) string {
		rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, row := range rows {
			b.WriteString(write(row) + "\n")
		}
		return b.String()
	})
}

func quote(cell string) string { return `"` + strings.ReplaceAll(cell, `"`, `""`) + `"` }

// cells writes a row with each cell in quotes where it needs them, between two paddings.
func cells(row []string, always bool, before, after string) string {
	var list []string
	for _, c := range row {
		if always || strings.ContainsAny(c, `",`) {
			c = quote(c)
		}
		list = append(list, before+c+after)
	}
	return strings.Join(list, ",")
}

// shuffled puts rows below the header in any order.
func shuffled(f files, seed uint64) files {
	r := rand.New(rand.NewPCG(seed, 1))
	return f.each(func(text string) string {
		lines := strings.SplitAfter(strings.TrimSuffix(text, "\n")+"\n", "\n")
		lines = lines[:len(lines)-1]
		r.Shuffle(len(lines)-1, func(i, k int) { lines[i+1], lines[k+1] = lines[k+1], lines[i+1] })
		return strings.Join(lines, "")
	})
}

// TestWriting makes sure that how a feed is written changes nothing.
func TestWriting(t *testing.T) {
	base := network()
	want := clean(t, base).describe()
	swapped := func(row []string) string {
		row = slices.Clone(row)
		slices.Reverse(row)
		return cells(row, false, "", "")
	}
	ways := map[string]files{
		"BOM": base.each(func(s string) string { return "\xef\xbb\xbf" + s }),
		"BOM and quotes": rewrite(t, base, func(r []string) string {
			return cells(r, true, "", "")
		}).each(func(s string) string { return "\xef\xbb\xbf" + s }),
		"CRLF":                  base.each(func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }),
		"mixed line ends":       base.each(func(s string) string { return strings.Replace(s, "\n", "\r\n", 1) }),
		"no last newline":       base.each(func(s string) string { return strings.TrimSuffix(s, "\n") }),
		"blank lines":           base.each(func(s string) string { return strings.ReplaceAll(s, "\n", "\n\n") + "  \n\n" }),
		"quoted":                rewrite(t, base, func(r []string) string { return cells(r, true, "", "") }),
		"padded in quotes":      rewrite(t, base, func(r []string) string { return cells(pad(r), true, "", "") }),
		"padded":                rewrite(t, base, func(r []string) string { return cells(pad(r), false, "", "") }),
		"padded with tabs":      rewrite(t, base, func(r []string) string { return cells(r, false, "\t", "") }),
		"space before a quote":  rewrite(t, base, func(r []string) string { return cells(r, true, " ", "") }),
		"space after a quote":   rewrite(t, base, func(r []string) string { return cells(r, true, "", " ") }),
		"columns in any order":  rewrite(t, base, swapped),
		"unknown columns":       rewrite(t, base, func(r []string) string { return "x_" + r[0] + "," + cells(r, false, "", "") + ",more" }),
		"rows in any order (1)": shuffled(base, 1),
		"rows in any order (2)": shuffled(base, 2),
		"rows in any order (3)": shuffled(base, 3),
		"unknown files":         base.with("shapes.txt", "\"a\nb,,,\n").with("README", "Not\x01 a table").with("sub/agency.txt", "x"),
		"empty optional files":  base.with("levels.txt", "").with("pathways.txt", "\xef\xbb\xbf"),
		"one-digit hours": base.edit(t, "frequencies.txt", "06:00:00,09:00:00",
			"6:00:00,9:00:00").edit(t, "stop_times.txt", "t2,07:00:00,07:00:00", "t2,7:00:00, 7:00:00"),
	}
	for name, f := range ways {
		t.Run(name, func(t *testing.T) {
			sameLines(t, name, clean(t, f).describe(), want)
		})
	}
}

func pad(row []string) []string {
	row = slices.Clone(row)
	for i := range row {
		row[i] = "  " + row[i] + " \t"
	}
	return row
}

// packed writes a feed as an archive, in a directory of it or at the top.
func packed(t testing.TB, f files, dir string) *zip.Reader {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, text := range f {
		e, err := w.Create(dir + name)
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
	z, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// TestPlaces finds the feed at the top or in one sub-directory, of a directory or an archive.
func TestPlaces(t *testing.T) {
	base := network()
	want := clean(t, base).describe()
	sub, err := fs.Sub(base.fs(), ".")
	if err != nil {
		t.Fatal(err)
	}
	below := fstest.MapFS{}
	for name, f := range base.fs() {
		below["feed-2026/"+name] = f
	}
	below["__MACOSX/._agency.txt"] = below["feed-2026/agency.txt"]
	below["LICENSE"] = below["feed-2026/agency.txt"]
	disk := t.TempDir()
	if err := os.CopyFS(disk, base.fs()); err != nil {
		t.Fatal(err)
	}
	feeds := map[string]fs.FS{
		"top": sub, "sub-directory": below, "disk": os.DirFS(disk),
		"archive": packed(t, base, ""), "sub-directory of an archive": packed(t, base, "feed/"),
	}
	for name, dir := range feeds {
		t.Run(name, func(t *testing.T) {
			if z, ok := dir.(*zip.Reader); ok {
				if err := gtfs.CheckZip(z); err != nil {
					t.Fatal(err)
				}
			}
			x := load(t, dir, gtfs.Options{})
			sameLines(t, name, x.describe(), want)
			if len(x.skipped) > 0 {
				t.Errorf("rows were skipped: %q", x.skipped)
			}
		})
	}
}

// TestDotSlash takes archives whose entries start with ./, as many tools write them: they do not leave the
// archive.
func TestDotSlash(t *testing.T) {
	z := packed(t, network(), "./")
	if err := gtfs.CheckZip(z); err != nil {
		t.Fatal(err)
	}
	sameLines(t, "archive", load(t, z, gtfs.Options{}).describe(), clean(t, network()).describe())
}

// TestEmptyOptionalFiles reads files with no rows, or nothing at all, as if they were not there.
func TestEmptyOptionalFiles(t *testing.T) {
	want := clean(t, plain()).describe()
	for _, name := range []string{
		"calendar_dates.txt", "frequencies.txt", "fare_attributes.txt", "fare_rules.txt", "areas.txt", "stop_areas.txt", "transfers.txt",
		"translations.txt", "feed_info.txt", "waybill_buses.txt", "waybill_refund_rules.txt", "waybill_discounts.txt",
	} {
		for _, text := range []string{"", "\n", "\r\n", "\xef\xbb\xbf", "a_column", "a_column,another\n",
			" \n"} {
			sameLines(t, name, clean(t, plain().with(name, text)).describe(), want)
		}
	}
}

// A quote in a quoted cell that is not doubled is read as it stands, and named.
func TestAQuoteInAQuotedCell(t *testing.T) {
	for cell, place := range map[string]string{
		`"Bra"vo"`:                `Bra"vo`,
		`"Hotel "Ukraine""`:       `Hotel "Ukraine"`,
		`"Hotel "Ukraine"" `:      `Hotel "Ukraine"`,
		`"Main "Hall" x"`:         `Main "Hall" x`,
		`"a"b" c"`:                `a"b" c`,
		`"The "A" and ""B"" "C""`: `The "A" and "B" "C"`,
	} {
		f := plain().edit(t, "stops.txt", "b,Bravo,", "b,"+cell+",")
		if s, ok := clean(t, f).stop("b"); !ok || s.Place != place {
			t.Errorf("%s: the stop is called %q", cell, s.Place)
		}
		want := "quotes in quoted cells that are not doubled, which are read as they stand: 1, first at stops.txt:3"
		if said := decisions(t, f); !slices.Contains(said, want) {
			t.Errorf("%s: the import says %q, want %q", cell, said, want)
		}
	}
}
