package web_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"testing"
)

// facts is the server's description of a trace.
type facts struct {
	ID, Path, State, Error string
	Length                 string
	Tracks                 []struct {
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

// ask sends a request for a path of the API to a server, and decodes the JSON answer into out. address
// is the address that the server prints; it contains the token.
func ask(t *testing.T, address, path string, out any) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	token := u.Query().Get("token")
	u.RawQuery, u.Fragment = "", ""
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

// waitReady waits until a trace is ready, and returns its description.
func waitReady(t *testing.T, at place) *facts {
	t.Helper()
	for {
		f := &facts{}
		ask(t, at.url, "traces/"+at.id, f)
		switch f.State {
		case "ready":
			return f
		case "failed":
			t.Fatal(f.Error)
		}
		waitMoment(t, "the index of "+at.path)
	}
}
