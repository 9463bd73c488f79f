package main

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

	"wirelab/workload/logging"
)

// raw is a request in its wire form, without its address.
type raw struct{ method, header, body string }

// hostile are requests that are refused, by why.
func hostile() map[string]raw {
	all := map[string]raw{}
	for why, body := range map[string]string{
		"nothing":                  "",
		"no JSON":                  "hello",
		"half a value":             `{"action":"log","log":{`,
		"a value and more":         `{"action":"log","log":{"name":"n"}} and so on`,
		"a mark of the byte order": "\xef\xbb\xbf" + `{"action":"log","log":{"name":"n"}}`,
		"nested too deep": `{"action":"log","log":{"name":"n"},"x":` + strings.Repeat("[", 20_000) +
			strings.Repeat("]", 20_000) + `}`,
		"an oversized body":       `{"action":"log","log":{"name":"n","data":"` + strings.Repeat("x", 1<<20) + `"}}`,
		"an unknown action":       `{"action":"burn","log":{"name":"n"}}`,
		"the last action counts":  `{"action":"log","action":"mail","log":{"name":"n"}}`,
		"no entry":                `{"action":"log"}`,
		"the last name counts":    `{"action":"log","log":{"name":"n","name":""}}`,
		"a name that is a number": `{"action":"log","log":{"name":7}}`,
		"a name above the limit":  `{"action":"log","log":{"name":"` + strings.Repeat("n", 129) + `"}}`,
		"data above the limit": `{"action":"log","log":{"name":"n","data":"` +
			strings.Repeat("x", logging.DataLimit+1) + `"}}`,
		"too long once it is a text": `{"action":"log","log":{"name":"n","data":"` + strings.Repeat("\u2028", 174_760) +
			`"}}`,
		"an endless id":        `{"action":"log","log":{"name":"n","id":"` + strings.Repeat("i", 500_000) + `"}}`,
		"an id that is a path": `{"action":"log","log":{"name":"n","id":".."}}`,
		"NUL, escaped":         `{"action":"log","log":{"name":"n\u0000"}}`,
		"NUL":                  "{\"action\":\"log\",\"log\":{\"name\":\"n\x00\"}}",
		"no UTF-8":             "{\"action\":\"log\",\"log\":{\"name\":\"\xff\"}}",
		"half a character":     `{"action":"log","log":{"name":"\ud800"}}`,
	} {
		all[why] = raw{
			http.MethodPost,
			fmt.Sprintf("Content-Type: application/json\r\nContent-Length: %d\r\n", len(body)), body,
		}
	}
	const fine = `{"action":"log","log":{"name":"n"}}`
	sized := fmt.Sprintf("Content-Length: %d\r\n", len(fine))
	all["a form"] = raw{http.MethodPost, "Content-Type: application/x-www-form-urlencoded\r\n" + sized, fine}
	all["text"] = raw{http.MethodPost, "Content-Type: text/plain\r\n" + sized, fine}
	all["compressed"] = raw{http.MethodPost, "Content-Encoding: gzip\r\n" + sized, fine}
	all["a page of elsewhere"] = raw{http.MethodPost, "Origin: http://evil.example\r\n" + sized, fine}
	all["a length that lies"] = raw{http.MethodPost, "Content-Length: 5000\r\n", fine}
	all["a chunk of no length"] = raw{http.MethodPost, "Transfer-Encoding: chunked\r\n", "zz\r\n{}\r\n0\r\n\r\n"}
	all["a chunk that is cut off"] = raw{http.MethodPost, "Transfer-Encoding: chunked\r\n", "fff\r\n" + fine}
	for _, method := range []string{
		http.MethodGet, http.MethodPut, http.MethodDelete, http.MethodPatch,
		http.MethodTrace, "BREW",
	} {
		all["method "+method] = raw{method, sized, fine}
	}
	return all
}

// say sends a request by its own connection and returns what is answered: the
// status, and the envelope. The end of what is sent is told.
func (r raw) say(ctx context.Context, gateway, address string) (string, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", gateway)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	var sending sync.WaitGroup
	defer sending.Wait()
	sending.Go(func() {
		// A gateway that reads no more closes the connection, and the rest is not written.
		_, _ = io.WriteString(conn,
			r.method+" "+address+" HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\n"+r.header+"\r\n"+r.body)
		_ = conn.(*net.TCPConn).CloseWrite()
	})
	reply, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return "", err
	}
	defer reply.Body.Close()
	body, err := io.ReadAll(reply.Body)
	return fmt.Sprintf("%d %s %s", reply.StatusCode, reply.Header.Get("Content-Type"), body), err
}

// refusesAlike checks that the same bad request is the same answer, word by word, on
// every path through the real processes, as it should be and as published, and that
// none of it is stored beside hundreds of good entries (ms-D01, ms-D02, ms-D03, ms-D15,
// ms-D17, ms-M02).
func refusesAlike(t *testing.T, up upStatus) {
	t.Helper()
	gateway := strings.TrimPrefix(up.Gateway, "http://")
	addresses := []string{"/handle"}
	for _, path := range up.Paths {
		addresses = append(addresses, strings.TrimPrefix(path, up.Gateway))
	}
	for why, r := range hostile() {
		first := ""
		for _, address := range addresses {
			got, err := r.say(t.Context(), gateway, address)
			switch {
			case err != nil:
				t.Errorf("%s to %s: %v", why, address, err)
			case first == "":
				first = got
				if !strings.HasPrefix(got, "4") ||
					!strings.Contains(got, `application/json {"error":true,"message":`) ||
					!strings.Contains(got, `"data":{"code":"`) {
					t.Errorf("%s to %s: %s", why, address, got)
				}
			case got != first:
				t.Errorf("%s: %s gets %s, and %s %s", why, addresses[0], first, address, got)
			}
		}
	}
	const callers, each = 16, 40
	var calling sync.WaitGroup
	for caller := range callers {
		calling.Go(func() {
			for i := range each {
				address := addresses[(caller+i)%len(addresses)]
				e := logging.Entry{ID: fmt.Sprintf("e-%d-%d", caller, i), Name: "fine"}
				if status, reply, err := post(t.Context(), up.Gateway+address, e); err != nil ||
					status != http.StatusAccepted {
					t.Errorf("%s: %d %+v, %v", address, status, reply, err)
				}
			}
		})
	}
	calling.Wait()
	service := loggerAt(t, up.Parts)
	stored := map[string]int{}
	eventually(t, "the entries", func() bool {
		clear(stored)
		for q := (logging.Query{}); ; {
			list, err := service.ListEntries(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range list.Entries {
				stored[e.Name]++
			}
			if q.Before = list.Next; q.Before == 0 {
				return stored["fine"] >= callers*each
			}
		}
	})
	if len(stored) != 2 || stored["all"] != len(up.Paths) || stored["fine"] != callers*each {
		t.Errorf("stored are %v", stored)
	}
}
