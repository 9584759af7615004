package serve_test

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/all"
	"github.com/weft-trace/weft/serve"
	"github.com/weft-trace/weft/serve/cache"
	"github.com/weft-trace/weft/web"
)

// This example serves one trace and sends a request to the server. A request needs the token;
// Server.URL adds it to the address for a browser.
func Example() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	c, err := cache.Open(dir, 0)
	if err != nil {
		log.Fatal(err)
	}
	ended := make(chan error, 1)
	token := serve.NewToken()
	s := serve.New(serve.Options{
		Reading: serve.ReadSettings{Formats: all.Formats()}, Cache: c, Page: web.Files(), Token: token,
		Traces: []serve.ServedTrace{{Source: format.FileSource("../examples/ring.trf")}},
		Ended:  func(_ string, err error) { ended <- err },
	})
	defer s.Close()
	s.Start()
	if err := <-ended; err != nil {
		log.Fatal(err)
	}
	h := httptest.NewServer(s)
	defer h.Close()
	q, err := http.NewRequest("GET", h.URL+"/api/traces", nil)
	if err != nil {
		log.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer "+token)
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		log.Fatal(err)
	}
	defer a.Body.Close()
	var list struct {
		Traces []struct{ Name, Format, State string }
	}
	if err := json.NewDecoder(a.Body).Decode(&list); err != nil {
		log.Fatal(err)
	}
	fmt.Println(a.Status, list.Traces)
	// Output: 200 OK [{ring.trf picl ready}]
}
