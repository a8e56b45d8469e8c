// Extension serves the tasks extension of internal/testserver/features as a program, over standard input and output or
// over Streamable HTTP.
//
//	extension [-http ADDRESS]
package main

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"time"

	"callgate/internal/testserver/features"
)

func main() {
	address := flag.String("http", "", "serve Streamable HTTP at this `address`")
	flag.Parse()
	if *address == "" {
		os.Args = []string{os.Args[0], features.ExtensionArg}
		features.Main()
		return
	}
	server := &http.Server{Addr: *address, Handler: features.ExtensionHandler(), ReadHeaderTimeout: 10 * time.Second}
	if err := server.ListenAndServe(); err != nil {
		fmt.Fprintln(os.Stderr, "extension:", err)
		os.Exit(1)
	}
}
