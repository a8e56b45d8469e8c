package tools
import ("testing";"strings";"time";"fmt")
func TestZZ(t *testing.T){
 p := workspace(t, map[string]string{"a/b":"x"})
 for _,s:=range []string{strings.Repeat("a/b ",8000), "rm "+strings.Repeat("a/b ",8000), strings.Repeat("ls;",10000), strings.Repeat("ls>x;",5000),"cat "+strings.Repeat("* ",15000), "grep -r x "+strings.Repeat("a ",15000), "tar c "+strings.Repeat("a ",15000),"chmod "+strings.Repeat("*+",16000)+" x"} {
  at:=time.Now(); a:=analyze(t,KindShell,p,"command",s); fmt.Println(time.Since(at), len(a.Subjects), len(a.Paths), a.Refuse, codes(a))
 }
 at:=time.Now(); big:=strings.Repeat("../",1300)+"x"; a:=analyze(t,KindReadFile,p,"path",big); fmt.Println(time.Since(at), len(a.Subjects))
 at=time.Now(); big=strings.Repeat("%25",1300)+"x"; a=analyze(t,KindReadFile,p,"path",big); fmt.Println(time.Since(at), len(a.Subjects))
 at=time.Now(); big=strings.Repeat("é:./\\",600)+"x"; a=analyze(t,KindReadFile,p,"path",big); fmt.Println(time.Since(at), len(a.Subjects))
 var l []string; for range 1000 { l=append(l, strings.Repeat("é:./\\",100)+"x") }
 at=time.Now(); a=analyze(t,KindReadFile,p,"paths",l); fmt.Println(time.Since(at), len(a.Subjects), len(a.Paths))
 at=time.Now(); fmt.Println(wildcard(strings.Repeat("*a",10), strings.Repeat("a",400)+"b"), time.Since(at))
}
