package desk

import (
	"testing"

	"waybill/booking"
)

// aTicketOf returns a ticket of a passenger.
func aTicketOf(first, last, email string, phones ...string) *booking.Ticket {
	return &booking.Ticket{Passenger: booking.NewPassenger(first, last, email, phones)}
}

// Decision desk.search: a phone is found by its digits, however it is written on either side, with its
// country or as a national number, whole or in part.
func TestAPhoneIsFoundByItsDigits(t *testing.T) {
	t.Parallel()
	for phone, queries := range map[string][]string{
		"+380441234567": {
			"+38 (044) 123-45-67", "380441234567", "044 123 45 67", "0441234567", "123-45-67",
			"044.123.45.67",
			"00380 44 123 45 67", "(044)1234567", "44 123 4567", "+380441234567", "4567",
		},
		"+38 (044) 123-45-67": {"380441234567", "044 123 45 67", "0441234567", "123-45-67"},
		"044 123 45 67":       {"+380441234567", "380 44 1234567", "0441234567", "00380441234567"},
		"+49 30 123456": {
			"030 123456", "+49 (0)30 123456", "0049 30 123456", "49-30-12-34-56", "123456",
		},
		"+49 (0)30 123456": {"030 123456", "+4930123456"},
		"+48 22 555 01 00": {"022 555 01 00", "22 555 0100", "225550100"},
	} {
		ticket := aTicketOf("Lesia", "Ukrainka", "", phone)
		for _, query := range queries {
			if x := newWanted(query); x.isTooShort() || !x.is(ticket) {
				t.Errorf("%s is not found by %s", phone, query)
			}
		}
		for _, query := range []string{"380441234568", "044 123 45 6 8", "9123456", "0 0 0 0"} {
			if x := newWanted(query); x.is(ticket) {
				t.Errorf("%s is found by %s", phone, query)
			}
		}
	}
	for _, query := range []string{"123", "0 1 2", "+38"} {
		if x := newWanted(query); !x.isTooShort() {
			t.Errorf("%s is looked for in every phone", query)
		}
	}
}

// Decision desk.search: a name is found by its words in any order, with or without commas, and beside a
// phone.
func TestANameIsFoundInAnyOrder(t *testing.T) {
	t.Parallel()
	ticket := aTicketOf("Мар'яна", "Нечуй-Łódzka", "m.n@example.com", "+380441234567")
	for _, query := range []string{
		"Нечуй-Łódzka, Мар'яна", "мар’яна нечуй", "Мар'яна", "lodzka,МАРʼЯНА", "m.n@example",
		"lodzka 044 123 45 67", "+380441234567 мар'яна", ", lodzka ;", "нечуй 123-45-67, Мар'яна",
	} {
		if x := newWanted(query); !x.is(ticket) || x.isEmpty() {
			t.Errorf("it is not found by %q", query)
		}
	}
	for _, query := range []string{"lodzka Леся", "lodzka 044 765 43 21", "Мар яни"} {
		if x := newWanted(query); x.is(ticket) {
			t.Errorf("it is found by %q", query)
		}
	}
	for _, query := range []string{"", " ", ",;", "- -", "…", "ʼ", "ь"} {
		if x := newWanted(query); !x.isEmpty() {
			t.Errorf("by %q everybody is found", query)
		}
	}
}

// Decision desk.search: a name in one alphabet is found by a word in the other.
func TestANameIsFoundInTheOtherAlphabet(t *testing.T) {
	t.Parallel()
	for _, names := range [][]string{
		{"Стус", "Stus"}, {"Юрій", "Yurii", "Iurii", "Yuriy"}, {"Євген", "Yevhen"}, {"Їжак", "Yizhak"},
		{"Мар'яна", "Mariana", "Маріана"}, {"Щербань", "Shcherban"}, {"Łódzka", "Лодзка"},
		{"Згурський", "Zghurskyi"}, {"Розгін", "Rozghin"}, {"Розгон", "Rozghon"},
	} {
		for _, stored := range names {
			for _, typed := range names {
				if x := newWanted(typed); !x.is(aTicketOf("Lesia", stored, "")) {
					t.Errorf("%s is not found by %s", stored, typed)
				}
			}
		}
	}
	if x := newWanted("Stus"); x.is(aTicketOf("Lesia", "Стасів", "")) {
		t.Error("Стасів is found by Stus")
	}
}

// Decision desk.search: a phone matches no name and no e-mail address, and a word no phone.
func TestAPhoneIsNoName(t *testing.T) {
	t.Parallel()
	named := aTicketOf("380441234567", "4567", "380441234567@example.com")
	if x := newWanted("380441234567"); x.is(named) {
		t.Error("a phone is found in a name")
	}
	if x := newWanted("380441234567@example.com"); !x.is(named) {
		t.Error("an e-mail address is not found")
	}
	phoned := aTicketOf("Lesia", "Ukrainka", "", "+380441234567")
	for _, query := range []string{"x380441234567", "4567a"} {
		if x := newWanted(query); x.is(phoned) {
			t.Errorf("a phone is found by the word %s", query)
		}
	}
}
