package rag
import ("testing";"context";"fmt";"os";"runtime";"runtime/pprof")
func TestPerf(t *testing.T){ runtime.MemProfileRate=32768; x:=open(t,t.TempDir(),Options{}); s,err:=x.Sync(context.Background(),runtime.GOROOT()+"/src",func(e Event){ if e.Indexed==8000 && e.Kind==EventProgress { f,_:=os.Create("/tmp/mid.prof"); pprof.WriteHeapProfile(f); f.Close() } }); fmt.Println(s,err); runtime.GC(); runtime.GC(); f,_:=os.Create("/tmp/end.prof"); pprof.WriteHeapProfile(f); f.Close()
 }
