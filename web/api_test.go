package web_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"
)

// facts is what a server says of a trace.
type facts struct {
	ID, State, Error string
	Length           string
	Tracks           []struct {
		Kind, ID  string
		Depth     int
		Capacity  float64
		Low, High float64
	}
	Regions []struct {
		Name  string
		Color int
	}
	Palettes struct{ Light []string }
}

// ask gets an answer of the server that printed an address.
func ask(t *testing.T, address, path string, out any) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	token := u.Query().Get("token")
	u.RawQuery = ""
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, u.JoinPath("api", path).String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: found status %s, %v: %s", path, answer.Status, err, b)
	}
	if err := json.Unmarshal(b, out); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// meta waits until the one trace of a server is ready.
func meta(t *testing.T, address string) *facts {
	t.Helper()
	var list struct{ Traces []facts }
	ask(t, address, "traces", &list)
	if len(list.Traces) != 1 {
		t.Fatalf("found %d traces, expected one", len(list.Traces))
	}
	for range 1000 {
		f := &facts{}
		ask(t, address, "traces/"+list.Traces[0].ID, f)
		switch f.State {
		case "ready":
			return f
		case "failed":
			t.Fatal(f.Error)
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal(fmt.Errorf("%s is not ready after 20 s", list.Traces[0].ID))
	return nil
}
