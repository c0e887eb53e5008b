"""nginx in front of several processes of the app: the file that it reads.

A session belongs to one process, and so do its uploads, downloads and pictures. A cookie names the process that
answered a visitor last. If that process is gone, another one answers and the cookie names it. A class often
shares one address, so the address decides nothing.
"""

from collections.abc import Sequence
from pathlib import Path
from string import Template

#: Megabytes of one upload (server.maxUploadSize in .streamlit/config.toml) with what a browser adds to it.
UPLOAD_MB = 65
CONNECTIONS = 8192


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
    return _template("nginx_site.conf").substitute(
        by_cookie="\n".join(f"    {number} encoderscope_{number};" for number in range(1, len(ports) + 1)),
        by_answer="\n".join(f"    ~:{port}$ {number};" for number, port in enumerate(ports, 1)),
        servers="\n".join(f"    {one};" for one in servers),
        upstreams=upstreams,
        listen=listen,
        cache=cache,
        upload=UPLOAD_MB,
    )


def whole(folder: Path, ports: Sequence[int], listen: str, most_files: int) -> str:
    """A file for an nginx of our own that keeps everything below `folder`. most_files: that it may have open."""
    files = min(most_files, 2 * CONNECTIONS)
    return _template("nginx.conf").substitute(
        folder=folder,
        files=files,
        connections=min(CONNECTIONS, files // 2),
        site=site(ports, listen, f"{folder}/cache"),
    )


def _template(name: str) -> Template:
    """A file next to this one, in which $name is filled in and $$name is a variable of nginx."""
    return Template(Path(__file__).with_name(name).read_text(encoding="utf-8"))
