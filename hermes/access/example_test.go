package access_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"wirelab/hermes/access"
	"wirelab/hermes/broker"
	"wirelab/hermes/broker/brokertest"
	"wirelab/wire/status"
)

func ExampleWrap() {
	dir, err := os.MkdirTemp("", "policy-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	token, hash := access.NewToken() // the token goes to who calls, the hash into the file
	file := filepath.Join(dir, "policy.yaml")
	text := "principals:\n  - name: shop\n    tokens: [" + hash + "]\n    admin: [shop.*]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	policy, err := access.Load(context.Background(), file)
	if err != nil {
		fmt.Println(err)
		return
	}
	memory := brokertest.Memory()
	defer memory.Close()
	b := access.Wrap(memory, policy)

	// What an API does with the header of a call.
	ctx, err := policy.Bearer(context.Background(), []string{"Bearer " + token})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = b.CreateTopic(ctx, broker.Topic{Name: "shop.orders"})
	fmt.Println(err)
	_, err = b.CreateTopic(ctx, broker.Topic{Name: "invoices"})
	fmt.Println(status.CodeOf(err))
	_, err = b.CreateTopic(context.Background(), broker.Topic{Name: "shop.orders"})
	fmt.Println(status.CodeOf(err))
	// Output:
	// <nil>
	// permission_denied
	// unauthenticated
}
