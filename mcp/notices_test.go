package mcp

import (
	"testing"
	"testing/synctest"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A session that ends has no subscriptions, whether it gave them up or not.
func TestSubscriptionsEndWithTheirSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.close()
		uri := executionsURI + b.call("execute", `{"command": "cmd", "side_effects": ["NONE"], "yield_ms": 0}`).id()
		n := newNotices(newTools(b.config))
		session := func() (*sdk.ServerSession, *sdk.ClientSession) {
			toServer, toClient := sdk.NewInMemoryTransports()
			server := must(sdk.NewServer(&sdk.Implementation{Name: "test"}, nil).Connect(t.Context(), toServer, nil))
			client := must(sdk.NewClient(&sdk.Implementation{Name: "test"}, nil).Connect(t.Context(), toClient, nil))
			return server, client
		}
		first, firstClient := session()
		second, secondClient := session()
		for _, s := range []*sdk.ServerSession{first, second, first} {
			n.watch(s, uri)
		}
		count := func() (subscriptions, sessions int) {
			synctest.Wait()
			n.mu.Lock()
			defer n.mu.Unlock()
			if w := n.watched[uri]; w != nil {
				subscriptions = len(w.sessions)
			}
			return subscriptions, len(n.sessions)
		}
		for i, c := range []*sdk.ClientSession{firstClient, secondClient} {
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
			if subscriptions, sessions := count(); subscriptions != 1-i || sessions != 1-i {
				t.Errorf("after the end of session %d: %d subscriptions, %d sessions", i+1, subscriptions, sessions)
			}
		}
		if len(n.watched) != 0 {
			t.Errorf("watched without a subscriber: %v", n.watched)
		}
	})
}
