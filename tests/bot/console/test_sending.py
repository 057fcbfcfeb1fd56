"""An artifact sent to another thread from its page."""

from tests.bot.console.conftest import Ground


async def test_an_artifact_is_sent_to_another_thread_and_a_taken_name_is_told(ground: Ground) -> None:
    visitor = ground.visitor
    source, target = (
        await visitor.start_thread("Which supplier?"),
        await visitor.start_thread("Other <b>work</b>"),
    )
    page = await visitor.answered(source, 1)
    save = next(one for one in page.all("a") if "/save?" in one.attributes.get("href", ""))
    form = await visitor.get(save.attributes["href"])
    await visitor.post(f"/t/{source}/save", {**form.fields(), "name": "Plan & more"})
    await visitor.answered(target, 1)
    page = await visitor.get(f"/t/{source}/artifact?name=Plan+%26+more")
    (link,) = [one for one in page.all("a") if "/artifact/send?" in one.attributes.get("href", "")]
    form = await visitor.get(link.attributes["href"])
    offered = {one.attributes["value"]: one.text for one in form.all("option")}
    assert offered[target] == "Other <b>work</b>"
    assert source not in offered
    status, path, page = await visitor.post(f"/t/{source}/artifact/send", {**form.fields(), "ref": target})
    assert (status, path.partition("#")[0]) == (200, f"/t/{target}")
    assert "sent “Plan & more” here" in page.text
    status, _, page = await visitor.post(
        f"/t/{source}/artifact/send", {**form.fields(), "ref": target, "event_key": await visitor.key()}
    )
    assert "already has an artifact named “Plan & more”" in page.one("p", class_="error").text
    assert page.fields()["ref"] == target
