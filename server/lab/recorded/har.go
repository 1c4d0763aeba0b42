package recorded

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"time"
)

// harEntry is an entry of a HAR, as far as it is looked at (HAR 1.2).
type harEntry struct {
	Started string  `json:"startedDateTime"`
	Time    float64 `json:"time"` // milliseconds until the answer was there
	Request *struct {
		Method   string     `json:"method"`
		URL      string     `json:"url"`
		Headers  []harField `json:"headers"`
		BodySize int        `json:"bodySize"`
		PostData *struct {
			MimeType string `json:"mimeType"`
			Text     string `json:"text"`
		} `json:"postData"`
	} `json:"request"`
	Response *struct {
		Status  int        `json:"status"`
		Headers []harField `json:"headers"`
		Content struct {
			Size     int     `json:"size"`
			Text     *string `json:"text"`
			Encoding string  `json:"encoding"`
		} `json:"content"`
	} `json:"response"`
}

type harField struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// readHAR reads what a browser, or a proxy, has saved.
func readHAR(file string) ([]*exchange, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, errors.New("cannot be read")
	}
	var har struct {
		Log struct {
			Entries *[]json.RawMessage `json:"entries"`
		} `json:"log"`
	}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	if err := json.Unmarshal(text, &har); err != nil {
		return nil, fmt.Errorf("is not a HAR: %w", jsonError(err))
	}
	if har.Log.Entries == nil {
		return nil, errors.New("is not a HAR: log.entries is missing, want a list of requests with " +
			"their responses")
	}
	entries := *har.Log.Entries
	if len(entries) > maxExchanges {
		return nil, fmt.Errorf("has %d entries, at most %d are read", len(entries), maxExchanges)
	}
	var list []*exchange
	for i, raw := range entries {
		x, err := readEntry(i+1, raw)
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", i+1, err)
		}
		if x != nil {
			list = append(list, x)
		}
	}
	return list, nil
}

// jsonError says what is wrong with JSON, without what stands there.
func jsonError(err error) error {
	var syntax *json.SyntaxError
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("want JSON, which breaks off at byte %d", syntax.Offset)
	case errors.As(err, &wrong):
		return fmt.Errorf("%s is of another type, want %s", wrong.Field, jsonType(wrong.Type))
	}
	return errors.New("want JSON")
}

// jsonType returns what JSON calls a type of Go.
func jsonType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Int:
		return "an integer"
	case reflect.Slice:
		return "an array"
	}
	return "an object"
}

// readEntry reads an entry; nil where it is no call of the service, or was never answered.
func readEntry(number int, raw []byte) (*exchange, error) {
	var e harEntry
	if err := json.Unmarshal(raw, &e); err != nil {
		return nil, jsonError(err)
	}
	switch {
	case e.Request == nil:
		return nil, errors.New("request is missing, want an object")
	case e.Request.Method == "" || e.Request.URL == "":
		return nil, errors.New("request.method or request.url is missing, want a string")
	case e.Response == nil:
		return nil, errors.New("response is missing, want an object")
	case e.Response.Status == 0: // what HAR has where no answer came
		return nil, nil
	}
	request := message{header: fields(e.Request.Headers)}
	if post := e.Request.PostData; post != nil {
		request.body = []byte(post.Text)
		if request.header.Get("Content-Type") == "" && post.MimeType != "" {
			request.header.Set("Content-Type", post.MimeType)
		}
	}
	request.lost = e.Request.BodySize > len(request.body)
	x, err := newExchange(fmt.Sprintf("entry %d", number), e.Request.Method, e.Request.URL, request)
	if x == nil || err != nil {
		return nil, err
	}
	answer := message{header: fields(e.Response.Headers)}
	content := e.Response.Content
	switch {
	case content.Text == nil:
	case content.Encoding == "base64":
		answer.body, err = base64.StdEncoding.DecodeString(*content.Text)
		if err != nil {
			return nil, errors.New("response.content.text is not base64, as its encoding says")
		}
	default:
		answer.body = []byte(*content.Text)
	}
	answer.lost = content.Size != len(answer.body)
	if began, err := time.Parse(time.RFC3339, e.Started); err == nil && e.Time > 0 {
		x.began = began
		x.ended = began.Add(time.Duration(e.Time * float64(time.Millisecond)))
	}
	return x, x.setAnswer(e.Response.Status, answer)
}

// fields returns headers as Go has them.
func fields(list []harField) http.Header {
	h := http.Header{}
	for _, f := range list {
		addHeader(h, f.Name, f.Value)
	}
	return h
}
