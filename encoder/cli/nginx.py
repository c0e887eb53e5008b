"""nginx in front of several processes of the app: the file that it reads.

A session belongs to one process, and so do its uploads, downloads and pictures. A cookie names the process that
answered a visitor last. If that process is gone, another one answers and the cookie names it. A class often
shares one address, so the address decides nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from string import Template

#: Megabytes of one upload (server.maxUploadSize in .streamlit/config.toml) with what a browser adds to it.
UPLOAD_MB = 65
CONNECTIONS = 8192

_SITE = Template("""\
proxy_cache_path $cache keys_zone=encoderscope_files:1m max_size=200m inactive=1d use_temp_path=off;

map $$http_upgrade $$encoderscope_connection { default upgrade; '' ''; }

# The cookie names the process that has the visitor's session. It changes only if another process had to answer.
map $$cookie_encoderscope $$encoderscope_process {
    default encoderscope;
$by_cookie
}
map $$upstream_addr $$encoderscope_answered {
    default '';
$by_answer
}
map "$$cookie_encoderscope:$$encoderscope_answered" $$encoderscope_cookie {
    default "encoderscope=$$encoderscope_answered; Path=/; HttpOnly; SameSite=Lax";
    "~:$$" '';
    "~^(.*):\\1$$" '';
}

upstream encoderscope {
    least_conn;
    zone encoderscope 64k;
$servers
}
$upstreams
server {
    listen $listen;
    server_name _;
    client_max_body_size ${upload}m;

    proxy_http_version 1.1;
    proxy_connect_timeout 2s;
    proxy_set_header Host $$http_host;
    proxy_set_header X-Forwarded-For $$remote_addr;
    proxy_set_header X-Forwarded-Proto $$scheme;
    proxy_set_header Upgrade $$http_upgrade;
    proxy_set_header Connection $$encoderscope_connection;

    location / {
        proxy_pass http://$$encoderscope_process;
        proxy_read_timeout 1d;  # a session's connection is quiet while somebody reads
        add_header Set-Cookie $$encoderscope_cookie always;
    }

    location /_rooms/ {  # the news of rooms: a stream for each browser
        proxy_pass http://$$encoderscope_process;
        proxy_buffering off;
        proxy_read_timeout 1h;
    }

    location /static/ {  # Streamlit's scripts: their names change with their content
        proxy_pass http://encoderscope;
        proxy_cache encoderscope_files;
        proxy_cache_valid 200 1d;
        proxy_cache_lock on;
    }
}
""")

_WHOLE = Template("""\
daemon off;
pid $folder/nginx.pid;
error_log stderr crit;  # a process that stops is said by `serve`
worker_rlimit_nofile $files;
events { worker_connections $connections; }
http {
    access_log off;
    server_tokens off;
    client_body_temp_path $folder/body;
    proxy_temp_path $folder/proxy;
    fastcgi_temp_path $folder/fastcgi;
    uwsgi_temp_path $folder/uwsgi;
    scgi_temp_path $folder/scgi;

$site
}
""")


def site(ports: Sequence[int], listen: str, cache: str = "/var/cache/encoderscope-nginx") -> str:
    """The part inside nginx's `http { }`, as a file in /etc/nginx/conf.d has it.

    ports: of the processes on this machine; listen: address and port of the front; cache: a folder that nginx makes.
    """
    # nginx asks a server that failed once whether it is back, and sends nobody else there until that request has ended,
    # which a websocket does not do. A process of this machine that is not there refuses at once: each request tries it.
    servers = [f"server 127.0.0.1:{port} max_fails=0" for port in ports]
    upstreams = "".join(
        f"upstream encoderscope_{number} {{\n    zone encoderscope_{number} 64k;\n    {own};\n"
        + "".join(f"    {other} backup;\n" for other in servers if other != own)
        + "}\n"
        for number, own in enumerate(servers, 1)
    )
    return _SITE.substitute(
        by_cookie="\n".join(f"    {number} encoderscope_{number};" for number in range(1, len(ports) + 1)),
        by_answer="\n".join(f"    ~:{port}$ {number};" for number, port in enumerate(ports, 1)),
        servers="\n".join(f"    {one};" for one in servers),
        upstreams=upstreams, listen=listen, cache=cache, upload=UPLOAD_MB,
    )  # fmt: skip


def whole(folder: Path, ports: Sequence[int], listen: str, most_files: int) -> str:
    """A file for an nginx of our own that keeps everything below `folder`. most_files: that it may have open."""
    files = min(most_files, 2 * CONNECTIONS)
    return _WHOLE.substitute(
        folder=folder, files=files, connections=min(CONNECTIONS, files // 2),
        site=site(ports, listen, f"{folder}/cache"),
    )  # fmt: skip
