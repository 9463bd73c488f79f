// Package schematest tests that a schema of Protocol Buffers keeps what its clients
// know. It knows no schema.
package schematest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// Keeps fails if a schema of Protocol Buffers lacks something that clients know. Each line has a message or service
// before the colon and its members after it: a field as name=number, a method as Name(Request)Reply. Additional
// members are allowed, since they break no client.
func Keeps(t testing.TB, schema protoreflect.FileDescriptor, lines []string) {
	t.Helper()
	has := map[string][]string{}
	for i := range schema.Messages().Len() {
		message := schema.Messages().Get(i)
		name := string(message.Name()) + ":"
		has[name] = []string{}
		for i := range message.Fields().Len() {
			has[name] = append(has[name],
				fmt.Sprintf("%s=%d", message.Fields().Get(i).Name(), message.Fields().Get(i).Number()))
		}
	}
	for i := range schema.Services().Len() {
		service := schema.Services().Get(i)
		name := string(service.Name()) + ":"
		for i := range service.Methods().Len() {
			m := service.Methods().Get(i)
			has[name] = append(has[name], fmt.Sprintf("%s(%s)%s", m.Name(), m.Input().Name(), m.Output().Name()))
		}
	}
	for _, line := range lines {
		words := strings.Fields(line)
		if _, ok := has[words[0]]; !ok {
			t.Errorf("the schema lacks %s", line)
		}
		for _, word := range words[1:] {
			if !slices.Contains(has[words[0]], word) {
				t.Errorf("%s lacks %s; it has %s", words[0], word, strings.Join(has[words[0]], " "))
			}
		}
	}
}
