package conform_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"waybill/server/docs"
	"waybill/server/lab/conform"
	"waybill/server/lab/rig"
)

// sentence is one of the interface, as testdata/breaks.txt has it.
type sentence struct {
	number  int    // from 1; 0 is none of the interface, but of decisions
	section string // under which it stands
	text    string
	breaks  []*breakage
	unseen  string // why no client can tell
}

// readSentences reads breaks.txt. sum is the SHA-256 of the sentences, as the file states it.
func readSentences(t *testing.T) (list []*sentence, sum string) {
	t.Helper()
	text, err := os.ReadFile("testdata/breaks.txt")
	if err != nil {
		t.Fatal(err)
	}
	numbered := regexp.MustCompile(`^(\d+) (.+)$`)
	section := ""
	for line := range strings.SplitSeq(string(text), "\n") {
		m := numbered.FindStringSubmatch(line)
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case line == "" || word == "#" || line == "#":
		case word == "sum":
			sum = rest
		case line[0] == '#':
			section = line
		case m != nil:
			n, _ := strconv.Atoi(m[1])
			list = append(list, &sentence{number: n, section: section, text: m[2]})
		case word == "+":
			list = append(list, &sentence{section: section, text: rest})
		case word == "unseen":
			last := list[len(list)-1]
			last.unseen = rest
		default:
			x, ok := parseBreak(strings.TrimSpace(line))
			if !ok {
				t.Fatalf("%q is no sentence and no breakage", line)
			}
			last := list[len(list)-1]
			last.breaks = append(last.breaks, x)
		}
	}
	return list, sum
}

// The page for testers says how much of the interface no client can tell, and how much needs worlds.
func TestThePageSaysWhatIsNotCovered(t *testing.T) {
	page, err := docs.Files.ReadFile("testing.md")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(string(page)), " ")
	list, _ := readSentences(t)
	all := 0
	unseen := 0
	for _, s := range list {
		if s.number > 0 {
			all++
			if s.unseen != "" {
				unseen++
			}
		}
	}
	for _, want := range []string{
		fmt.Sprintf("The interface has %d sentences. For %d of them", all, all-unseen),
		fmt.Sprintf("The other %d name", unseen),
		fmt.Sprintf("at least %d rules", len(withoutControl(t))),
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// Decision conform.sentences: each sentence of the interface stands once in the list of breaks, with servers
// that break it or with the reason why no client can tell.
func TestEachSentenceHasItsBreaks(t *testing.T) {
	list, sum := readSentences(t)
	number := 0
	there := map[string]bool{}
	var all strings.Builder
	for _, s := range list {
		if s.number > 0 {
			number++
			if s.number != number {
				t.Errorf("sentence %d stands in the place of %d", s.number, number)
			}
			all.WriteString(s.text)
		}
		if there[s.section+s.text] {
			t.Errorf("%q stands there twice", s.text)
		}
		there[s.section+s.text] = true
		if (len(s.breaks) == 0) == (s.unseen == "") {
			t.Errorf("%d %s: %d breaks, and unseen as %q", s.number, s.text, len(s.breaks), s.unseen)
		}
	}
	bare := strings.Join(strings.Fields(all.String()), "")
	if got := fmt.Sprintf("%x", sha256.Sum256([]byte(bare))); got != sum || number < 250 {
		t.Errorf("the sum of %d sentences is %s, and the file says %s", number, got, sum)
	}
}

// ruleIDs returns the ids of all rules, and in which file lines they are listed.
func ruleIDs(t *testing.T) (ids []string) {
	t.Helper()
	var list strings.Builder
	if err := conform.List(0, &list); err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^  (\d+\.\d\d)  `).FindAllStringSubmatch(list.String(), -1) {
		ids = append(ids, m[1])
	}
	return ids
}

// Each rule is one that some break is found by: a rule that nothing breaks may hold for everything.
func TestEachRuleIsBroken(t *testing.T) {
	broken := map[string]bool{}
	list, _ := readSentences(t)
	for _, s := range list {
		for _, x := range s.breaks {
			broken[x.rule] = true
		}
	}
	mistakes, err := os.ReadFile("testdata/mistakes.txt")
	if err != nil {
		t.Fatal(err)
	}
	// The small server is played with these mistakes where its other tests are, in lab/histories.
	for _, m := range regexp.MustCompile(`(?m)^mistake (\S+)`).FindAllSubmatch(mistakes, -1) {
		broken[string(m[1])] = true
	}
	ids := ruleIDs(t)
	for _, id := range ids {
		if !broken[id] {
			t.Errorf("nothing breaks rule %s", id)
		}
		delete(broken, id)
	}
	if len(broken) > 0 {
		t.Errorf("there are no rules %v", broken)
	}
	if !slices.IsSortedFunc(ids, byNumber) {
		t.Errorf("rules are not in the order of their numbers: %v", ids)
	}
}

// byNumber compares two ids of rules.
func byNumber(a, b string) int {
	x, _ := strconv.ParseFloat(a, 64)
	y, _ := strconv.ParseFloat(b, 64)
	return int(100*x+0.5) - int(100*y+0.5)
}

// sampled is of how many sentences one is played where not all of them are.
const sampled = 12

// Conform finds each of these servers out. They are this one behind a proxy that breaks one rule. By default
// those of some sentences are played, one of each kind of breakage and one of each stage, with -long all of
// them.
func TestBrokenRulesAreFound(t *testing.T) {
	b := newBench(t)
	known := map[string]bool{} // kinds of breakages, and stages
	var wg sync.WaitGroup
	places := make(chan struct{}, 4)
	list, _ := readSentences(t)
	played := map[string]bool{}
	for i, s := range list {
		for n, x := range s.breaks {
			how, _, _ := strings.Cut(x.edit, " ")
			kind := fmt.Sprint(how, x.world)
			stage := fmt.Sprint(x.stage())
			same := fmt.Sprint(*x)
			if played[same] || !*rig.Long && (known[kind] && known[stage] || i%sampled != 0) {
				continue
			}
			played[same] = true
			known[kind] = true
			known[stage] = true
			places <- struct{}{}
			wg.Go(func() {
				defer func() { <-places }()
				b.find(fmt.Sprintf("b%d-%d", i, n), x)
			})
		}
	}
	wg.Wait()
}

// find plays the stage of a rule against a server that breaks it.
func (b *bench) find(name string, x *breakage) {
	t := b.t
	opt := b.opt
	opt.Stage = x.stage()
	opt.Await = time.Second / 2 // a sound server is not judged here
	opt.From, opt.To, opt.Date = "kyiv", "warsaw", "2026-11-25"
	if !strings.Contains(x.path.String(), "pre-login") {
		opt.Email, opt.Password = "", "" // each check of a password costs 0.1 s
	}
	switch {
	case x.world:
		opt.ControlURL, opt.BaseURL = newControl(t, b, x)
	case x.stage() > 3:
		opt.BaseURL = newProxy(t, b.world(name), b.opt.Key, x, nil)
		defer b.drop(name)
	default:
		opt.BaseURL = newProxy(t, b.base, b.opt.Key, x, nil)
	}
	var out strings.Builder
	sum, err := conform.Run(opt, &out)
	if err != nil {
		t.Errorf("%s: %v", x.rule, err)
		return
	}
	i := slices.IndexFunc(sum.Results, func(r conform.Result) bool {
		return r.ID == x.rule
	})
	if i < 0 || sum.Results[i].Verdict != conform.Fail {
		t.Errorf("%s %s %s %s is not found: %s", x.rule, x.method, x.path, x.edit, grep(out.String(), x.rule))
	}
}

// grep returns the lines about a rule.
func grep(text, rule string) string {
	i := strings.Index(text, rule)
	if i < 0 {
		return "no line"
	}
	return text[i:min(len(text), i+300)]
}
