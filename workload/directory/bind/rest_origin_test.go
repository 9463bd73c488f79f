package bind_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"wirelab"
	"wirelab/wire/conformance"
	"wirelab/workload/directory"
	"wirelab/workload/directory/bind"
)

// restServe serves service over HTTP/1.1 in the clear until the test ends and
// returns the address.
func restServe(t *testing.T, service directory.Service) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- conformance.Pick(t, bind.HTTP(), "http1-json").Servers[0].Serve(ctx,
			wirelab.Endpoint{Listener: listener}, service)
	}()
	t.Cleanup(sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	}))
	return listener.Addr().String()
}

// restAsk sends one request with a client that adds no headers.
func restAsk(t *testing.T, method, url, body string, header ...string) (status int, head http.Header, reply string) {
	t.Helper()
	var content io.Reader
	if body != "" {
		content = strings.NewReader(body)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, url, content)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		if header[i+1] != "" {
			r.Header.Set(header[i], header[i+1])
		}
	}
	transport := &http.Transport{DisableCompression: true}
	defer transport.CloseIdleConnections()
	resp, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(data)
}

// publishedJSON returns the JSON that the library of the published service writes: members in the order of the
// source's fields, no spaces, null for no picture, text outside ASCII unescaped. It does not use the codecs, and
// supports persons whose texts need no escapes.
func publishedJSON(p directory.Person) string {
	picture := "null"
	if p.Picture != nil {
		picture = fmt.Sprintf(`{"large":"%s","medium":"%s","thumbnail":"%s"}`, p.Picture.Large, p.Picture.Medium,
			p.Picture.Thumbnail)
	}
	return fmt.Sprintf(`{"id":"%s","name":{"title":"%s","first":"%s","last":"%s"},"gender":"%s",`+
		`"location":{"street":"%s","city":"%s","state":"%s","postCode":%d},"email":"%s","picture":%s}`,
		p.ID, p.Name.Title, p.Name.First, p.Name.Last, p.Gender,
		p.Location.Street, p.Location.City, p.Location.State, p.Location.PostCode, p.Email, picture)
}

func publishedList(persons ...directory.Person) string {
	all := make([]string, len(persons))
	for i := range persons {
		all[i] = publishedJSON(persons[i])
	}
	return fmt.Sprintf(`{"persons":[%s],"count":%d}`, strings.Join(all, ","), len(all))
}

func publishedLinks(pairs ...directory.Person) string {
	var all []string
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, fmt.Sprintf(`{"p1":%s,"p2":%s}`, publishedJSON(pairs[i]), publishedJSON(pairs[i+1])))
	}
	return fmt.Sprintf(`{"links":[%s],"count":%d}`, strings.Join(all, ","), len(all))
}

// known returns the data set of four, by id less one.
func known(t *testing.T) []directory.Person {
	t.Helper()
	list, err := directory.New().ListPersons(t.Context(), directory.Page{})
	if err != nil || len(list.Persons) != 4 {
		t.Fatalf("%d persons, %v", len(list.Persons), err)
	}
	return list.Persons
}

// TestPublishedReads asks what clients of the published service ask, and
// expects its bytes: mt-F01, mt-F02, mt-F03.
func TestPublishedReads(t *testing.T) {
	t.Parallel()
	address := "http://" + restServe(t, directory.New())
	p := known(t)
	newcomer := directory.Newcomer()
	for _, c := range []struct{ why, path, accept, want string }{
		{"mt-F01", "/person", "application/json", publishedList(p...)},
		{"mt-F01 as curl asks", "/person", "*/*", publishedList(p...)},
		{"mt-F01 without Accept", "/person", "", publishedList(p...)},
		{"mt-F02, without a picture", "/person/1", "application/json", publishedJSON(p[0])},
		{"mt-F02", "/person/2", "application/json", publishedJSON(p[1])},
		{"mt-F02 as curl asks", "/person/3", "*/*", publishedJSON(p[2])},
		{"mt-F02, an escape that was not needed", "/person/%34", "application/json", publishedJSON(p[3])},
		{"mt-F03", "/person/1/links", "application/json", publishedLinks(p[0], p[1], p[0], p[2], p[3], p[0])},
		{"mt-F03, on either side", "/person/3/links", "application/json", publishedLinks(p[0], p[2], p[1], p[2])},
	} {
		status, head, body := restAsk(t, "GET", address+c.path, "", "Accept", c.accept)
		if status != 200 || head.Get("Content-Type") != "application/json" || body != c.want {
			t.Errorf("%s: %d, %q, %s\nwant 200, application/json, %s", c.why, status, head.Get("Content-Type"), body,
				c.want)
		}
		status, head, none := restAsk(t, "HEAD", address+c.path, "", "Accept", c.accept)
		if status != 200 || none != "" || head.Get("Content-Length") != fmt.Sprint(len(body)) {
			t.Errorf("%s: HEAD is %d with %q, announcing %s bytes of %d", c.why, status, none,
				head.Get("Content-Length"), len(body))
		}
	}
	// Someone without links has an empty list, not null.
	if status, _, _ := restAsk(t, "POST", address+"/person", publishedJSON(newcomer)); status != 200 {
		t.Fatalf("create: %d", status)
	}
	if _, _, body := restAsk(t, "GET", address+"/person/"+newcomer.ID+"/links", ""); body != `{"links":[],"count":0}` {
		t.Errorf("no links: %s", body)
	}
	// A page is ours; a full one says where the next begins.
	want := strings.TrimSuffix(publishedList(p[1], p[2]), "}") + `,"next":"3"}`
	if status, _, body := restAsk(t, "GET", address+"/person?after=1&limit=2", ""); status != 200 || body != want {
		t.Errorf("a page: %d, %s\nwant %s", status, body, want)
	}
	if status, _, body := restAsk(t, "GET", address+"/person?after="+newcomer.ID, ""); status != 200 ||
		body != `{"persons":[],"count":0}` {
		t.Errorf("a page of none: %d, %s", status, body)
	}
}

// TestPublishedCreate sends what clients of the published service send, in the
// ways they may: mt-F04. Here it is kept, once (mt-D01).
func TestPublishedCreate(t *testing.T) {
	t.Parallel()
	address := "http://" + restServe(t, directory.New())
	newcomer := directory.Newcomer() // its city is not ASCII
	asked := func(id string, change ...func(*directory.Person)) directory.Person {
		p := newcomer
		p.ID = id
		for _, c := range change {
			c(&p)
		}
		return p
	}
	pictured := func(p *directory.Person) { p.Picture = &directory.Picture{Large: "l", Medium: "", Thumbnail: "t"} }
	foreign := func(p *directory.Person) { p.Name.First, p.Location.City = "Þórdís 梅 𝄞", "Ísafjörður" }
	for _, c := range []struct {
		why, contentType string
		person           directory.Person
		body             string // "": that of the person
	}{
		{"mt-F04", "application/json", asked("5"), ""},
		{"with a charset", "application/json; charset=UTF-8", asked("a"), ""},
		{"with a charset in quotes", `application/json;charset="utf-8"`, asked("b"), ""},
		{"without a content type, as the origin takes it", "", asked("c"), ""},
		{"in other letters", "Application/JSON", asked("d"), ""},
		{"with a picture", "application/json", asked("e", pictured), ""},
		{"beyond ASCII", "application/json", asked("f", foreign), ""},
		{
			"in escapes", "application/json", asked("g", func(p *directory.Person) { p.Email = "é𝄞/" }),
			strings.Replace(publishedJSON(asked("g")), newcomer.Email, `\u00e9\ud834\udd1e\/`, 1),
		},
		{
			"with spaces, in another order, and more than we know", "application/json", asked("h"),
			strings.Replace(publishedJSON(asked("h")), `{"id":"h",`, "{ \"shoe\" : [ 43 ] ,\r\n\t\"id\":\"h\",", 1),
		},
		{
			"with no picture by silence", "application/json", asked("i"),
			strings.Replace(publishedJSON(asked("i")), `,"picture":null`, "", 1),
		},
		{"the longest id", "application/json", asked(strings.Repeat("z", directory.IDLimit)), ""},
	} {
		body, want := c.body, publishedJSON(c.person)
		if body == "" {
			body = want
		}
		status, head, got := restAsk(t, "POST", address+"/person", body, "Content-Type", c.contentType, "Accept",
			"application/json")
		if status != 200 || head.Get("Content-Type") != "application/json" || got != want {
			t.Errorf("%s: %d, %q, %s\nwant 200, application/json, %s", c.why, status, head.Get("Content-Type"), got,
				want)
		}
		if status, _, got := restAsk(t, "GET", address+"/person/"+c.person.ID, ""); status != 200 || got != want {
			t.Errorf("%s: kept is %d, %s\nwant %s", c.why, status, got, want)
		}
		if status, _, got := restAsk(t, "POST", address+"/person", body); status != 409 ||
			!strings.Contains(got, `"wirelab.code":"conflict"`) {
			t.Errorf("%s: again is %d, %s", c.why, status, got)
		}
	}
}

// TestPublishedFailures makes requests that fail: a missing person is 404, not 500 as in the origin (mt-D02); an
// unreadable request is 400 as there.
func TestPublishedFailures(t *testing.T) {
	t.Parallel()
	address := "http://" + restServe(t, directory.New())
	valid := publishedJSON(directory.Newcomer())
	for _, c := range []struct {
		why, method, path, contentType, body string
		status                               int
		want                                 string
	}{
		{
			"unknown id (mt-D02)", "GET", "/person/99", "", "", 404,
			`{"code":404,"message":"no person has the id \"99\"","details":{"wirelab.code":"not_found"}}`,
		},
		{"unknown id's links (mt-D02)", "GET", "/person/99/links", "", "", 404, `"wirelab.code":"not_found"`},
		{"unknown id to begin after", "GET", "/person?after=99", "", "", 404, `"wirelab.code":"not_found"`},
		{"an invalid id", "GET", "/person/a%20b", "", "", 400, `"wirelab.code":"invalid_argument"`},
		{"an id that is a path", "GET", "/person/..%2fperson", "", "", 400, `"wirelab.code":"invalid_argument"`},
		{"dots", "GET", "/person/..", "", "", 400, `"wirelab.code":"invalid_argument"`},
		{
			"an id too long", "GET", "/person/" + strings.Repeat("x", directory.IDLimit+1), "", "", 400,
			"is not 1 to 64 characters",
		},
		{"a limit out of bounds", "GET", "/person?limit=10001", "", "", 400, "limit 10001 is outside 0 to 10000"},
		{"a limit below zero", "GET", "/person?limit=-1", "", "", 400, "limit -1 is outside"},
		{"a limit that is none", "GET", "/person?limit=ten", "", "", 400, `limit is \"ten\"`},
		{"a misspelt parameter", "GET", "/person?Limit=1", "", "", 400, "is not known; known: after, limit"},
		{"an unknown parameter", "GET", "/person/1?verbose", "", "", 400, "is not known"},
		{
			"a taken id", "POST", "/person", "application/json", strings.Replace(valid, `"id":"5"`, `"id":"4"`, 1), 409,
			`{"code":409,"message":"a person has the id \"4\" already","details":{"wirelab.code":"conflict"}}`,
		},
		{
			"not JSON", "POST", "/person", "application/json", valid[:50], 400,
			`{"code":400,"message":"the body cannot be read as application/json","details":{"wirelab.code":"invalid_argument"}}`,
		},
		{
			"another type", "POST", "/person", "application/json",
			strings.Replace(valid, `"gender":"`, `"gender":7,"x":"`, 1),
			400, "cannot be read",
		},
		{
			"a number too large", "POST", "/person", "application/json",
			strings.Replace(valid, `"postCode":`, `"postCode":9999999999`, 1), 400, "cannot be read",
		},
		{
			"a fraction", "POST", "/person", "application/json",
			strings.Replace(valid, `"postCode":`, `"postCode":0.`, 1),
			400,
			"cannot be read",
		},
		{"a list", "POST", "/person", "application/json", "[" + valid + "]", 400, "cannot be read"},
		{"two persons", "POST", "/person", "application/json", valid + valid, 400, "cannot be read"},
		{"null", "POST", "/person", "application/json", "null", 400, `id \"\" is not 1 to 64 characters`},
		{"nothing", "POST", "/person", "application/json", "", 400, "the body is empty"},
		{
			"not UTF-8", "POST", "/person", "application/json", strings.Replace(valid, "ç", "\xe7", 1), 400,
			"cannot be read",
		},
		{
			"a text too long", "POST", "/person", "application/json",
			strings.Replace(valid, `"city":"`, `"city":"`+strings.Repeat("x", directory.TextLimit), 1), 400, "city",
		},
		{"deep", "POST", "/person", "application/json", `{"id":` + strings.Repeat("[", 100_000), 400, "cannot be read"},
		{
			"too much", "POST", "/person", "application/json", strings.Repeat(" ", wirelab.MessageLimit) + valid, 413,
			"message of more than",
		},
		{
			"a form", "POST", "/person", "application/x-www-form-urlencoded", "id=5", 415,
			`content type \"application/x-www-form-urlencoded\" is not known: application/json`,
		},
		{"an unsupported method", "DELETE", "/person/1", "", "", 405, "/person/1 takes GET, HEAD, not DELETE"},
		{"an unknown path", "GET", "/persons", "", "", 404, `"wirelab.code":"unimplemented"`},
		{"a person without an id", "GET", "/person/", "", "", 404, `"wirelab.code":"unimplemented"`},
	} {
		status, head, body := restAsk(t, c.method, address+c.path, c.body, "Content-Type", c.contentType, "Accept",
			"application/json")
		if status != c.status || head.Get("Content-Type") != "application/json" || !strings.Contains(body, c.want) {
			t.Errorf("%s: %d, %q, %.300s; want %d, application/json, %s", c.why, status, head.Get("Content-Type"), body,
				c.status, c.want)
		}
		if strings.Contains(body, "json:") || strings.Contains(body, "Go ") {
			t.Errorf("%s: the caller is shown a library's text: %s", c.why, body)
		}
	}
	// None of it was kept, and the server is well.
	if status, _, body := restAsk(t, "GET", address+"/person", ""); status != 200 ||
		body != publishedList(known(t)...) {
		t.Errorf("after all that: %d, %s", status, body)
	}
}

// TestPublishedWire writes what the published client's library writes, as it
// stands on the wire, all over one connection.
func TestPublishedWire(t *testing.T) {
	t.Parallel()
	address := restServe(t, directory.New())
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	p, newcomer := known(t), directory.Newcomer()
	body := publishedJSON(newcomer)
	const agent = "Host: localhost:8080\r\nUser-Agent: http4s-blaze/0.20.10\r\nAccept: application/json\r\n"
	from := bufio.NewReader(conn)
	for _, c := range []struct{ why, request, want string }{
		{"list", "GET /person HTTP/1.1\r\n" + agent + "\r\n", publishedList(p...)},
		{"get", "GET /person/1 HTTP/1.1\r\n" + agent + "\r\n", publishedJSON(p[0])},
		{
			"links", "GET /person/1/links HTTP/1.1\r\n" + agent + "\r\n",
			publishedLinks(p[0], p[1], p[0], p[2], p[3], p[0]),
		},
		{
			"create", fmt.Sprintf("POST /person HTTP/1.1\r\n%sContent-Type: application/json\r\nContent-Length: "+
				"%d\r\n\r\n%s",
				agent, len(body), body),
			body,
		},
		{
			"create in chunks",
			fmt.Sprintf("POST /person HTTP/1.1\r\n%sContent-Type: application/json\r\nTransfer-Encoding: "+
				"chunked\r\n\r\n%x\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n",
				agent, 9, `{"id":"6"`, len(body)-9, body[9:]), strings.Replace(body, `"id":"5"`, `"id":"6"`, 1),
		},
		{
			"get what was created", "GET /person/6 HTTP/1.1\r\n" + agent + "\r\n",
			strings.Replace(body, `"id":"5"`, `"id":"6"`, 1),
		},
	} {
		if _, err := io.WriteString(conn, c.request); err != nil {
			t.Fatalf("%s: %v", c.why, err)
		}
		resp, err := http.ReadResponse(from, nil)
		if err != nil {
			t.Fatalf("%s: %v", c.why, err)
		}
		got, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK || string(got) != c.want || resp.Close {
			t.Errorf("%s: %d, close %v, %s, %v\nwant 200 over a connection that stays, %s", c.why, resp.StatusCode,
				resp.Close,
				got, err, c.want)
		}
	}
}

// TestPublishedErrors has the service itself in trouble: a panic is the
// call's failure and tells nothing (mt-D03), a caller may say how long it waits
// (mt-D06), and the connection serves on after both.
func TestPublishedErrors(t *testing.T) {
	t.Parallel()
	address := "http://" + restServe(t, directory.Wrap(directory.New(), wirelab.Hooks{
		Before: func(ctx context.Context, operation string) error {
			switch operation {
			case "GetPerson":
				panic("secret")
			case "GetPersonLinks":
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		},
		After: func(string) {},
	}))
	for _, c := range []struct {
		path   string
		status int
		want   string
	}{
		{"/person/1", 500, `{"code":500,"message":"internal error","details":{"wirelab.code":"internal"}}`},
		{
			"/person/1/links", 453,
			`{"code":453,"message":"deadline exceeded","details":{"wirelab.code":"deadline_exceeded"}}`,
		},
		{"/person", 200, publishedList(known(t)...)},
	} {
		if status, _, body := restAsk(t, "GET", address+c.path, "", "Call-Timeout-Ms", "200"); status != c.status ||
			body != c.want {
			t.Errorf("%s: %d, %s; want %d, %s", c.path, status, body, c.status, c.want)
		}
	}
}

// TestNullResponderCreates creates twice at the null responder, which repeats
// what it has answered before but not to this.
func TestNullResponderCreates(t *testing.T) {
	t.Parallel()
	for _, b := range []wirelab.Binding[directory.Service]{
		conformance.Pick(t, bind.HTTP(), "http1-json"), conformance.Pick(t, bind.HTTP(), "h2c-proto"),
	} {
		address := conformance.Listening(t, func(ctx context.Context,
			at wirelab.Endpoint,
		) error {
			return b.Null(ctx, at, directory.New())
		})
		stub, closer, err := b.Clients[0].Dial(t.Context(), wirelab.Dialing{Address: address})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := stub.CreatePerson(t.Context(), directory.Newcomer()); err != nil ||
			!got.Equal(directory.Newcomer()) {
			t.Errorf("%s: %+v, %v", b.Protocol.Name, got, err)
		}
		if got, err := stub.CreatePerson(t.Context(), directory.Newcomer()); err == nil ||
			wirelab.CodeOf(err) != wirelab.Conflict {
			t.Errorf("%s: again %+v, %v", b.Protocol.Name, got, err)
		}
		if err := closer.Close(); err != nil {
			t.Error(err)
		}
	}
}
