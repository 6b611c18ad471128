"""Starting the app: on the port that was asked for, or not at all."""

import socket

import pytest
from scripted_workbench import scripted_workbench

from app.main import serve
from orchestra_lib.errors import BadInput


def test_a_port_in_use_is_named_and_no_other_is_taken_instead(tmp_path):
    """K3"""
    workbench = scripted_workbench(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(BadInput, match=f"127.0.0.1:{port} .*choose another with --port"):
            serve(workbench, port=port, open_browser=False)
    workbench.store.close()
